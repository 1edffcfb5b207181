// The kernels of the activations, in order of preference.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

std::vector<KernelEntry> gelu_kernels();
std::vector<KernelEntry> gelu_grad_kernels();
std::vector<KernelEntry> relu_kernels();
std::vector<KernelEntry> relu_grad_kernels();

}  // namespace tidemark::ops
