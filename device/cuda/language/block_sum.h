// The sum of one value a thread over a block, the same bits for every thread and in every run.
#pragma once

#include "device/cuda/language/language.h"

namespace tidemark::TM_CUDA_NAMESPACE {

// For blocks of one dimension whose size is a multiple of 32, called by all threads. `scratch` is shared memory, one
// float a warp; it may be used again as soon as this returns.
__device__ inline float block_sum(float value, float* scratch) {
  for (int mask = 16; mask > 0; mask /= 2) value += __shfl_xor_sync(0xFFFFFFFFu, value, mask);
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0.0f;
  for (unsigned warp = 0; warp < blockDim.x / 32; ++warp) sum += scratch[warp];
  __syncthreads();
  return sum;
}

}  // namespace tidemark::TM_CUDA_NAMESPACE
