// The kernels of pooling, in order of preference.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

std::vector<KernelEntry> global_avg_pool2d_kernels();
std::vector<KernelEntry> global_avg_pool2d_grad_kernels();
std::vector<KernelEntry> max_pool2d_kernels();
std::vector<KernelEntry> max_pool2d_grad_kernels();

}  // namespace tidemark::ops
