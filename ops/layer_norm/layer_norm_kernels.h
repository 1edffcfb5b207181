// The kernels of layer normalisation.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_layer_norm_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_layer_norm_grad_cpu(const KernelRequest& request, std::string& why_not);

// Empty in builds without CUDA.
std::vector<KernelEntry> layer_norm_cuda_kernels();
std::vector<KernelEntry> layer_norm_grad_cuda_kernels();

// In order of preference, for all devices of this build.
std::vector<KernelEntry> layer_norm_kernels();
std::vector<KernelEntry> layer_norm_grad_kernels();

}  // namespace tidemark::ops
