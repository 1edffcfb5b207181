// What the rest of the program knows of CUDA. Vendor headers appear in this folder's .cc files and in cuda_driver.h
// only.
//
// Built without a CUDA toolkit, cuda_missing.cc takes the place of cuda.cc: no device is found, and the reason says so.
#pragma once

#include <memory>
#include <string>

#include "device/device_memory.h"
#include "device/stream.h"

namespace tidemark {

struct CudaDevices {
  int count = 0;
  std::string why_none;  // if count is 0: "the driver is absent or too old", "built without CUDA"
};

// Never throws: any error of the driver means that there is no device.
CudaDevices find_cuda_devices();

// Memory of device `index`. Throws Error(device) if the driver cannot be used.
std::unique_ptr<DeviceMemory> make_cuda_memory(int index);

// A cudaStream_t of device `index` that somebody else made and that outlives what is returned; nullptr is the default
// stream. Throws Error(device).
std::unique_ptr<Stream> wrap_cuda_stream(int index, void* stream);

}  // namespace tidemark
