// The kernels of matmul and its gradients, in order of preference.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

std::vector<KernelEntry> matmul_kernels();
std::vector<KernelEntry> matmul_grad_input_kernels();
std::vector<KernelEntry> matmul_grad_weight_kernels();

}  // namespace tidemark::ops
