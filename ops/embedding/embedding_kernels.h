// The kernels of embeddings.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_embedding_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_embedding_grad_cpu(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_position_grad_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
