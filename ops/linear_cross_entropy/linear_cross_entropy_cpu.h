// The CPU kernels of linear cross entropy.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

// Positions of optional inputs.
inline constexpr size_t kLinearCrossEntropyLossBefore = 4;
inline constexpr size_t kLinearCrossEntropyGradWeightSum = 4;
inline constexpr size_t kLinearCrossEntropyGradLossBefore = 5;

std::unique_ptr<Kernel> make_linear_cross_entropy_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_linear_cross_entropy_grad_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
