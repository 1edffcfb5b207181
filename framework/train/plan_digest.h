// A digest of what a program will do: instruction order, kernels, shapes and every offset.
#pragma once

#include <map>
#include <set>
#include <string>

#include "framework/compile/program.h"

namespace tidemark::train {

std::string plan_digest(const compile::Program& program);

// The kernels of every node of training and evaluation, of whatever size its body is, as they are without
// recomputation, but for additions and zeros: what bit-identity hangs on besides data, seed and threads.
using NodeKernels = std::map<std::string, std::set<std::string>>;
NodeKernels node_kernels(const compile::Program& program);

// Of these alone. The same for every budget.
std::string kernel_digest(const compile::Program& program);

}  // namespace tidemark::train
