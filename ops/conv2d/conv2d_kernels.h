// The kernels of conv2d and its gradients, in order of preference.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

std::vector<KernelEntry> conv2d_kernels();
std::vector<KernelEntry> conv2d_grad_input_kernels();
std::vector<KernelEntry> conv2d_grad_weight_kernels();

}  // namespace tidemark::ops
