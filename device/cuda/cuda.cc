#include "device/cuda/cuda.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "base/log.h"
#include "device/cuda/cuda_driver.h"
#include "device/cuda/cuda_memory.h"
#include "device/cuda/cuda_stream.h"

namespace tidemark {
namespace {

// A machine without a GPU is no fault, and its message must not read like one.
std::string in_plain_words(cudaError_t error, const std::string& number) {
  switch (error) {
    case cudaSuccess:
    case cudaErrorNoDevice:
      return "the driver knows no device";
    case cudaErrorInsufficientDriver:
      return "the driver is absent or too old";
    default:
      return number;
  }
}

}  // namespace

CudaDevices find_cuda_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {.count = count};
  cudaGetLastError();  // clears it for later calls
  const std::string number =
      fmt::format("cudaGetDeviceCount: error {} ({})", static_cast<int>(error), cudaGetErrorString(error));
  log(LogLevel::debug, "no_cuda_device", {{"why", number}});
  return {.why_none = in_plain_words(error, number)};
}

std::unique_ptr<DeviceMemory> make_cuda_memory(int index) {
  return std::make_unique<CudaMemory>(load_cuda_driver(), index, nvml_table());
}

std::unique_ptr<Stream> wrap_cuda_stream(int index, void* stream) {
  return std::make_unique<CudaStream>(load_cuda_stream_calls(), index, static_cast<CUstream>(stream));
}

}  // namespace tidemark
