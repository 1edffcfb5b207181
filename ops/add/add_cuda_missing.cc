// In builds without CUDA.
#include "ops/add/add_kernels.h"

namespace tidemark::ops {

std::vector<KernelEntry> add_cuda_kernels() { return {}; }

}  // namespace tidemark::ops
