// The device of a run, as the configuration says and as this build can.
#pragma once

#include <memory>

#include "device/device.h"
#include "framework/config/load.h"

namespace tidemark::cli {

struct RunDevice {
  DeviceChoice choice;
  std::unique_ptr<DeviceMemory> memory;
  bool imagined = false;  // not there: `memory` is another device's and good for sizes alone
};

// Logs which device it is and why. Throws what choose_device throws.
RunDevice open_device(const config::LoadedConfig& config);

// The same, and where a CUDA device is set that cannot be used: this machine's memory in its place, for estimates. Such
// a device has no free bytes to ask for, so memory.budget must be set in bytes: Error(config).
RunDevice open_or_imagine_device(const config::LoadedConfig& config);

}  // namespace tidemark::cli
