#include "ops/layer_norm/layer_norm_kernels.h"

namespace tidemark::ops {

std::vector<KernelEntry> layer_norm_kernels() {
  std::vector<KernelEntry> kernels = layer_norm_cuda_kernels();
  kernels.push_back({"cpu:layer_norm", KernelDevice::cpu, make_layer_norm_cpu});
  return kernels;
}

std::vector<KernelEntry> layer_norm_grad_kernels() {
  std::vector<KernelEntry> kernels = layer_norm_grad_cuda_kernels();
  kernels.push_back({"cpu:layer_norm_grad", KernelDevice::cpu, make_layer_norm_grad_cpu});
  return kernels;
}

}  // namespace tidemark::ops
