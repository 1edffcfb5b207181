// The device of a run, as the configuration says and as this build can.
#pragma once

#include <memory>

#include "device/device.h"
#include "framework/config/load.h"

namespace tidemark::cli {

struct RunDevice {
  DeviceChoice choice;
  std::unique_ptr<DeviceMemory> memory;
};

// Logs which device it is and why. Throws what choose_device throws.
RunDevice open_device(const config::LoadedConfig& config);

}  // namespace tidemark::cli
