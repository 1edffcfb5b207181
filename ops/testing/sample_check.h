// What an op promises of samples (SampleRule) against slices of a call.
#pragma once

#include <string>
#include <vector>

#include "ops/testing/kernel_run.h"

namespace tidemark::ops::testing {

// Runs the call slice by slice, at several sizes of slices, on kernels of `entry`, and compares bit for bit: outputs
// with samples with those of `whole` (the entry's outputs for the whole call); sums that the op rounds group by group
// with the whole's; all that make_sliced_kernel gives with the slices. Also whether the rule names each output once,
// and only operands that there are. Empty: all is well, or the op promises nothing.
std::vector<std::string> sample_faults(const KernelEntry& entry, const KernelCall& call,
                                       const std::vector<std::vector<std::byte>>& whole, int threads);

}  // namespace tidemark::ops::testing
