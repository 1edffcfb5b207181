// Parts of a split against the whole.
#pragma once

#include <string>
#include <vector>

#include "ops/testing/kernel_run.h"

namespace tidemark::ops::testing {

// Runs the parts that the op's SplitRule names, each on the kernel that `ops` chooses for so many threads, and compares
// every output with `whole` (the outputs of the op's own kernel) bit for bit. Empty: all is well, or the call does not
// split. Every part's op must be in `ops`.
std::vector<std::string> split_faults(const OpSet& ops, const KernelCall& call,
                                      const std::vector<std::vector<std::byte>>& whole, int threads);

}  // namespace tidemark::ops::testing
