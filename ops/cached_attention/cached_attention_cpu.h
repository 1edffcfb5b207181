// The CPU kernel of cached_attention.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_cached_attention_cpu(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
