#include "device/cuda/language/language.h"
#include "ops/add/add_launch.h"
#include "ops/add/add_math.h"

namespace tidemark::TM_CUDA_NAMESPACE {
namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kMostBlocks = 4096;  // enough for every device; the loop takes the rest

__global__ void Add(const float* a, const float* b, float* out, int64_t count) {
  const int64_t stride = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += stride) {
    out[i] = ops::add_math(a[i], b[i]);
  }
}

}  // namespace

const char* launch_add(const float* a, const float* b, float* out, int64_t count, void* stream) {
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  const unsigned blocks = static_cast<unsigned>(wanted < kMostBlocks ? wanted : kMostBlocks);
  TM_LAUNCH(Add, blocks, kThreads, stream, a, b, out, count);
  return launch_error();
}

}  // namespace tidemark::TM_CUDA_NAMESPACE
