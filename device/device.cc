#include "device/device.h"

#include <fmt/format.h>

#include <charconv>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "device/host_memory.h"
#include "device/sim/sim_memory.h"

namespace tidemark {
namespace {

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(ErrorCode::config,
              fmt::format("device '{}' {}; write auto, cpu, cuda:N or sim:NAME?size=2GiB", text, why));
}

DeviceSetting parse_cuda(std::string_view text, std::string_view index) {
  DeviceSetting setting = {.kind = DeviceSetting::Kind::cuda};
  const char* const last = index.data() + index.size();
  const auto [end, error] = std::from_chars(index.data(), last, setting.cuda_index);
  if (error != std::errc() || end != last || setting.cuda_index < 0) refuse(text, "has no device number");
  return setting;
}

DeviceSetting parse_sim(std::string_view text, std::string_view rest) {
  constexpr std::string_view kSize = "?size=";
  const size_t query = rest.find('?');
  DeviceSetting setting = {.kind = DeviceSetting::Kind::sim, .sim_name = std::string(rest.substr(0, query))};
  if (setting.sim_name.empty()) refuse(text, "has no name");
  SimLedger::check_name(setting.sim_name);
  if (query == std::string_view::npos) return setting;
  if (!rest.substr(query).starts_with(kSize)) refuse(text, "has no size");
  setting.sim_bytes = parse_bytes(rest.substr(query + kSize.size()));
  if (setting.sim_bytes == 0) refuse(text, "has the size 0");
  return setting;
}

DeviceChoice choose_cuda(const DeviceSetting& setting, const DeviceCensus& census) {
  const std::string name = fmt::format("cuda:{}", setting.cuda_index);
  if (!census.cuda_refusal.empty()) {
    throw Error(ErrorCode::config,
                fmt::format("device '{}' cannot be used: {}; set device: cpu", name, census.cuda_refusal));
  }
  if (setting.cuda_index >= census.cuda.count) {
    throw Error(ErrorCode::device, fmt::format("device '{}' is not there: {}; set device: auto", name,
                                               census.cuda.count == 0 ? census.cuda.why_none
                                                                      : fmt::format("the CUDA devices are 0 to {}",
                                                                                    census.cuda.count - 1)));
  }
  return {DeviceKind::cuda, setting.cuda_index, name, "device: " + name + " is set"};
}

DeviceChoice choose_automatic(const DeviceCensus& census) {
  if (census.cuda.count == 0) return {DeviceKind::cpu, 0, "cpu", "no CUDA device: " + census.cuda.why_none};
  if (!census.cuda_refusal.empty()) return {DeviceKind::cpu, 0, "cpu", "CUDA device unused: " + census.cuda_refusal};
  return {DeviceKind::cuda, 0, "cuda:0", fmt::format("first of {} CUDA devices", census.cuda.count)};
}

}  // namespace

DeviceSetting parse_device_setting(std::string_view text) {
  if (text == "auto") return {};
  if (text == "cpu") return {.kind = DeviceSetting::Kind::cpu};
  if (text.starts_with("cuda:")) return parse_cuda(text, text.substr(5));
  if (text.starts_with("sim:")) return parse_sim(text, text.substr(4));
  refuse(text, "is unknown");
}

DeviceChoice choose_device(const DeviceSetting& setting, const DeviceCensus& census) {
  switch (setting.kind) {
    case DeviceSetting::Kind::automatic:
      return choose_automatic(census);
    case DeviceSetting::Kind::cpu:
      return {DeviceKind::cpu, 0, "cpu", "device: cpu is set"};
    case DeviceSetting::Kind::cuda:
      return choose_cuda(setting, census);
    case DeviceSetting::Kind::sim:
      return {DeviceKind::sim, 0, "sim:" + setting.sim_name, "device: sim:" + setting.sim_name + " is set",
              setting.sim_bytes};
  }
  TM_CHECK(false, "unknown DeviceSetting kind");
}

DeviceChoice choose_device(std::string_view setting, std::string cuda_refusal) {
  const DeviceSetting parsed = parse_device_setting(setting);
  // A driver is looked for only where it matters: the search takes a second on some machines.
  const bool needs_cuda = parsed.kind == DeviceSetting::Kind::automatic || parsed.kind == DeviceSetting::Kind::cuda;
  return choose_device(parsed, {needs_cuda ? find_cuda_devices() : CudaDevices{}, std::move(cuda_refusal)});
}

std::unique_ptr<DeviceMemory> make_device_memory(const DeviceChoice& choice) {
  if (choice.kind == DeviceKind::cuda) return make_cuda_memory(choice.cuda_index);
  if (choice.kind == DeviceKind::sim) {
    return std::make_unique<SimMemory>(choice.name.substr(std::string_view("sim:").size()), choice.sim_bytes);
  }
  TM_CHECK(choice.kind == DeviceKind::cpu, "no memory for device '" + choice.name + "'");
  return std::make_unique<HostMemory>();
}

std::unique_ptr<Stream> wrap_stream(const DeviceChoice& choice, void* handle) {
  return choice.kind == DeviceKind::cuda ? wrap_cuda_stream(choice.cuda_index, handle) : make_host_stream();
}

}  // namespace tidemark
