// The CPU kernels of attention.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_attention_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_attention_grad_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
