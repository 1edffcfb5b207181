// The kernels of batch normalization, in order of preference.
#pragma once

#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

std::vector<KernelEntry> batch_norm_kernels();
std::vector<KernelEntry> batch_norm_statistics_kernels();
std::vector<KernelEntry> batch_norm_apply_kernels();
std::vector<KernelEntry> batch_norm_grad_kernels();
std::vector<KernelEntry> batch_norm_inference_kernels();
std::vector<KernelEntry> batch_norm_update_statistics_kernels();

}  // namespace tidemark::ops
