// The host side of the CUDA kernel; the launcher is passed in, so that tests run it on the emulation.
#pragma once

#include "ops/add/add_launch.h"
#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_add_cuda(AddLaunch* launch, const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
