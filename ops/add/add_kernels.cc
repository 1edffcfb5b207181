#include "ops/add/add_kernels.h"

namespace tidemark::ops {

std::vector<KernelEntry> add_kernels() {
  std::vector<KernelEntry> kernels = add_cuda_kernels();
  kernels.push_back({"cpu:add", KernelDevice::cpu, make_add_cpu});
  return kernels;
}

}  // namespace tidemark::ops
