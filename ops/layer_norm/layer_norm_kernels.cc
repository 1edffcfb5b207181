#include "ops/layer_norm/layer_norm_kernels.h"

namespace tidemark::ops {

std::vector<KernelEntry> layer_norm_kernels() { return {{"cpu:layer_norm", KernelDevice::cpu, make_layer_norm_cpu}}; }

std::vector<KernelEntry> layer_norm_grad_kernels() {
  return {{"cpu:layer_norm_grad", KernelDevice::cpu, make_layer_norm_grad_cpu}};
}

}  // namespace tidemark::ops
