// Kernels of matmul and its gradients in register tiles, for the shapes where they are faster than oneDNN's; others are
// refused with the reason. Note [Tiles or oneDNN] in matmul_tiles.cc.
#pragma once

#include "ops/kernel.h"

namespace tidemark::ops {

std::unique_ptr<Kernel> make_matmul_tiles(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_grad_input_tiles(const KernelRequest& request, std::string& why_not);
std::unique_ptr<Kernel> make_grad_weight_tiles(const KernelRequest& request, std::string& why_not);

}  // namespace tidemark::ops
