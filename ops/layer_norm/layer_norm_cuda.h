// The host side of the CUDA kernels; launchers are passed in, so that tests run them on the emulation.
#pragma once

#include "ops/kernel.h"
#include "ops/layer_norm/layer_norm_launch.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_layer_norm_cuda(LayerNormLaunch* launch, const KernelRequest& request,
                                             std::string& why_not);
std::unique_ptr<Kernel> make_layer_norm_grad_cuda(LayerNormGradLaunch* launch, const KernelRequest& request,
                                                  std::string& why_not);

}  // namespace tidemark::ops
