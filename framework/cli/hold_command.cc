// `tidemark hold`: a neighbour for tests and trials, which takes pages of a device and keeps them.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <limits>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/bytes.h"
#include "base/error.h"
#include "device/device.h"
#include "framework/cli/commands.h"
#include "framework/cli/options.h"
#include "framework/cli/stop_request.h"

namespace tidemark::cli {
namespace {

using Clock = std::chrono::steady_clock;

struct HoldOptions {
  std::string device;
  std::string bytes;
  double seconds = std::numeric_limits<double>::infinity();
  bool json = false;
};

int parse(HoldOptions& options, int argc, char** argv) {
  CLI::App app("Takes memory of a device and holds it until the time is over or a signal comes", "tidemark hold");
  app.add_option("--device", options.device, "cpu, cuda:N, sim:NAME?size=2GiB, or sim:NAME for one that is there")
      ->required();
  app.add_option("--bytes", options.bytes, "How much, rounded up to whole pages: 512MiB")->required();
  app.add_option("--seconds", options.seconds, "For how long; without it: until SIGINT or SIGTERM")
      ->check(CLI::NonNegativeNumber);
  app.add_flag("--json", options.json, "One object on standard output once the memory is held");
  return parse_command_line(app, argc, argv);
}

// Throws Error(config) for what is no amount of memory, or no time (nan passes the option's check).
int64_t wanted_bytes(const HoldOptions& options) {
  if (std::isnan(options.seconds)) throw Error(ErrorCode::config, "--seconds nan is no time; write 1.5");
  const int64_t bytes = [&] {
    try {
      return parse_bytes(options.bytes);
    } catch (const Error& error) {
      throw Error(ErrorCode::config, std::string("--bytes: ") + error.what());
    }
  }();
  if (bytes == 0) throw Error(ErrorCode::config, "--bytes 0 holds nothing; write 512MiB");
  return bytes;
}

// What a device says of bytes that it does not have ends with what a run can do about it; hold has no budget.
VirtualRange take(DeviceMemory& memory, int64_t bytes) {
  try {
    VirtualRange range = memory.reserve(bytes);
    range.commit(0, range.bytes());
    return range;
  } catch (const Error& error) {
    const std::string what = error.what();
    const size_t hint = what.rfind("; ");
    if (hint == std::string::npos || what.find("memory.budget", hint) == std::string::npos) throw;
    throw Error(error.code(), what.substr(0, hint) + "; stop other programs or lower --bytes");
  }
}

void report(const DeviceMemory& memory, bool json) {
  const DeviceUse use = memory.use();
  std::fprintf(stderr, "holding %s of device '%s', %s of %s are free; Ctrl-C gives them back\n",
               format_bytes(use.own_bytes).c_str(), memory.name().c_str(), format_bytes(use.free_bytes).c_str(),
               format_bytes(use.total_bytes).c_str());
  if (!json) return;
  const nlohmann::ordered_json object = {{"device", memory.name()},
                                         {"held_bytes", use.own_bytes},
                                         {"device_total_bytes", use.total_bytes},
                                         {"device_free_bytes", use.free_bytes},
                                         {"device_foreign_bytes", use.foreign_bytes}};
  std::cout << object.dump(2) << std::endl;
}

void wait_for_the_end(double seconds) {
  constexpr auto kStep = std::chrono::milliseconds(10);
  const auto start = Clock::now();
  while (!stop_requested()) {
    const double left = seconds - std::chrono::duration<double>(Clock::now() - start).count();
    if (left <= 0) return;
    std::this_thread::sleep_for(std::min<std::chrono::duration<double>>(kStep, std::chrono::duration<double>(left)));
  }
}

}  // namespace

int run_hold(int argc, char** argv) {
  HoldOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  const int64_t bytes = wanted_bytes(options);
  take_stop_signals();
  const std::unique_ptr<DeviceMemory> memory = make_device_memory(choose_device(options.device));
  const VirtualRange range = take(*memory, bytes);
  report(*memory, options.json);
  wait_for_the_end(options.seconds);
  return 0;
}

}  // namespace tidemark::cli
