#include "framework/cli/run_device.h"

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

namespace tidemark::cli {
namespace {

RunDevice imagine_device(const config::LoadedConfig& config, const std::string& why) {
  const std::string& budget = config.config.memory.budget;
  if (budget.empty() || parse_byte_limit(budget).is_share())
    throw Error(ErrorCode::config, why + "; to estimate for it, give its memory in bytes: --budget 16GiB");
  RunDevice device;
  device.imagined = true;
  device.choice.name = config.config.top.device + " (not there)";
  device.choice.reason = why;
  device.memory = make_device_memory({.name = "cpu"});
  log(LogLevel::info, "device", {{"name", device.choice.name}, {"why", why}});
  return device;
}

}  // namespace

RunDevice open_device(const config::LoadedConfig& config) {
  RunDevice device;
  device.choice = choose_device(config.config.top.device, "most ops have CPU kernels only in this build");
  device.memory = make_device_memory(device.choice);
  log(LogLevel::info, "device", {{"name", device.choice.name}, {"why", device.choice.reason}});
  return device;
}

RunDevice open_or_imagine_device(const config::LoadedConfig& config) {
  try {
    return open_device(config);
  } catch (const Error& error) {
    if (parse_device_setting(config.config.top.device).kind != DeviceSetting::Kind::cuda) throw;
    return imagine_device(config, error.what());
  }
}

}  // namespace tidemark::cli
