#include "base/error.h"
#include "device/cuda/cuda.h"

namespace tidemark {

CudaDevices find_cuda_devices() { return {.count = 0, .why_none = "built without CUDA"}; }

std::unique_ptr<DeviceMemory> make_cuda_memory(int index) {
  throw Error(ErrorCode::device, "device 'cuda:" + std::to_string(index) + "' cannot be used: built without CUDA");
}

std::unique_ptr<Stream> wrap_cuda_stream(int index, void*) {
  throw Error(ErrorCode::device, "device 'cuda:" + std::to_string(index) + "' cannot be used: built without CUDA");
}

}  // namespace tidemark
