// What kernel sources (.cu) are written in: CUDA where nvcc compiles them; where a C++ compiler does, for tests without
// a GPU, an emulation of the part of CUDA that they use (emulation.h).
//
// A source keeps its contents in `namespace tidemark::TM_CUDA_NAMESPACE`, so that a program can hold both. Kernels use
//   threadIdx, blockIdx, blockDim, gridDim, __syncthreads, __syncwarp, __shfl_xor_sync, __shfl_down_sync, atomicAdd,
//   TM_SHARED(type, name, count)                          an array in the block's shared memory, not initialised
// and a launcher
//   TM_LAUNCH(kernel, blocks, threads, stream, args...)   blocks and threads: dim3 or a number
//   return launch_error();                                nullptr, or the text of what went wrong with the launch
#pragma once

#ifdef __CUDACC__

#include <cuda_runtime_api.h>

#define TM_CUDA_NAMESPACE cuda

#define TM_SHARED(type, name, count) __shared__ type name[count]

#define TM_LAUNCH(kernel, blocks, threads, stream, ...) \
  kernel<<<(blocks), (threads), 0, static_cast<cudaStream_t>(stream)>>>(__VA_ARGS__)

namespace tidemark {

inline const char* launch_error() {
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorString(error);
}

}  // namespace tidemark

#else

#include "device/cuda/language/emulation.h"

#define TM_CUDA_NAMESPACE cuda_emulated

#define __global__
#define __device__

// The counter is one number for all threads that come by this line.
#define TM_SHARED(type, name, count) type* const name = ::tidemark::emulation::shared<type>(__COUNTER__, (count))

#define TM_LAUNCH(kernel, blocks, threads, stream, ...) \
  (static_cast<void>(stream), ::tidemark::emulation::launch((blocks), (threads), [&] { kernel(__VA_ARGS__); }))

namespace tidemark {

using emulation::atomicAdd;
using emulation::blockDim;
using emulation::blockIdx;
using emulation::dim3;
using emulation::gridDim;
using emulation::launch_error;
using emulation::threadIdx;

}  // namespace tidemark

#endif
