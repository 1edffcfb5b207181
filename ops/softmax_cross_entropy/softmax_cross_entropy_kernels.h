// The kernels of softmax cross entropy.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
