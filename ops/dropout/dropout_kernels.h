// The kernel of dropout.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_dropout_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
