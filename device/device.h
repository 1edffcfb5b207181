// Which device a run uses: the `device:` setting, what is there, and why it was chosen.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "device/cuda/cuda.h"
#include "device/device_memory.h"
#include "device/stream.h"

namespace tidemark {

// auto | cpu | cuda:N | sim:NAME?size=BYTES | sim:NAME, for a device that is there already
struct DeviceSetting {
  enum class Kind { automatic, cpu, cuda, sim };
  Kind kind = Kind::automatic;
  int cuda_index = 0;
  std::string sim_name;
  int64_t sim_bytes = 0;  // 0: the size that it has

  bool operator==(const DeviceSetting&) const = default;
};

// Throws Error(config) that lists the forms.
DeviceSetting parse_device_setting(std::string_view text);

struct DeviceChoice {
  DeviceKind kind = DeviceKind::cpu;
  int cuda_index = 0;
  std::string name;       // "cpu", "cuda:0", "sim:lab"
  std::string reason;     // why this one, for the log: "no CUDA device: ..."
  int64_t sim_bytes = 0;  // as in DeviceSetting
};

// What the choice hangs on besides the setting.
struct DeviceCensus {
  CudaDevices cuda;
  // Set if the caller cannot run on CUDA, with the reason; `auto` then takes the CPU, and cuda:N is refused.
  std::string cuda_refusal;
};

// `auto` is the first CUDA device if there is one, else the CPU. Throws Error(device) for a device that is not there,
// Error(config) for one that this build or the caller does not support.
DeviceChoice choose_device(const DeviceSetting& setting, const DeviceCensus& census);

// The same for the setting as written and the devices that are there now.
DeviceChoice choose_device(std::string_view setting, std::string cuda_refusal = "");

// Memory of the chosen device. Throws Error(device), and Error(config) for a simulated device of another size.
std::unique_ptr<DeviceMemory> make_device_memory(const DeviceChoice& choice);

// A stream that another program made, by its handle: a cudaStream_t, which must outlive what is returned. Where the
// device is no CUDA device, work is done in order by the calling thread and the handle means nothing. Throws
// Error(device).
std::unique_ptr<Stream> wrap_stream(const DeviceChoice& choice, void* handle);

}  // namespace tidemark
