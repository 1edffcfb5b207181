// A digest of what a program will do: instruction order, kernels, shapes and every offset.
#pragma once

#include <string>

#include "framework/compile/program.h"

namespace tidemark::train {

std::string plan_digest(const compile::Program& program);

// Of the kernels alone, in order, as they are without recomputation: what bit-identity hangs on besides data, seed and
// threads. The same for every budget.
std::string kernel_digest(const compile::Program& program);

}  // namespace tidemark::train
