#include "device/cuda/cuda.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "device/cuda/cuda_driver.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_stream.h"

namespace tidemark {

CudaDevices find_cuda_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {.count = count};
  cudaGetLastError();  // clears it for later calls
  if (error == cudaSuccess) return {.why_none = "the driver knows no device"};
  return {.why_none =
              fmt::format("cudaGetDeviceCount: error {} ({})", static_cast<int>(error), cudaGetErrorString(error))};
}

std::unique_ptr<DeviceMemory> make_cuda_memory(int index) {
  return std::make_unique<CudaMemory>(load_cuda_driver(), index, nvml_table());
}

std::unique_ptr<Stream> wrap_cuda_stream(int index, void* stream) {
  return std::make_unique<CudaStream>(load_cuda_stream_calls(), index, static_cast<CUstream>(stream));
}

}  // namespace tidemark
