// The kernels of add and add_into: one elementwise sum whose output may lie on either operand.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_add_cpu(const KernelRequest& request, std::string& why_not);

// Empty in builds without CUDA.
std::vector<KernelEntry> add_cuda_kernels();

// In order of preference, for all devices of this build.
std::vector<KernelEntry> add_kernels();

}  // namespace tidemark::ops
