#include "bazel/cuda/sample_kernel.h"

namespace tidemark {
namespace {

__global__ void Axpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += a * x[i];
}

}  // namespace

cudaError_t SampleAxpy(int n, float a, const float* x, float* y, cudaStream_t stream) {
  constexpr int kThreads = 256;
  Axpy<<<(n + kThreads - 1) / kThreads, kThreads, 0, stream>>>(n, a, x, y);
  return cudaGetLastError();
}

}  // namespace tidemark
