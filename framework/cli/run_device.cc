#include "framework/cli/run_device.h"

#include "base/log.h"

namespace tidemark::cli {

RunDevice open_device(const config::LoadedConfig& config) {
  RunDevice device;
  device.choice = choose_device(config.config.top.device, "most ops have CPU kernels only in this build");
  device.memory = make_device_memory(device.choice);
  log(LogLevel::info, "device", {{"name", device.choice.name}, {"why", device.choice.reason}});
  return device;
}

}  // namespace tidemark::cli
