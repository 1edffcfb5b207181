// A kernel that exists only to test cuda_library.
#pragma once

#include <cuda_runtime_api.h>

namespace tidemark {

// y[i] += a * x[i] on `stream`; x and y hold n floats in device memory.
cudaError_t SampleAxpy(int n, float a, const float* x, float* y, cudaStream_t stream);

}  // namespace tidemark
