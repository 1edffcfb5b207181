// Gradient rules against central differences of the reference.
#pragma once

#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {

// Builds the case's node over parameters, appends the backward pass of a loss (the op's own, or a weighted sum of
// OpCase::gradient_outputs with random weights), runs all of it with CPU kernels and compares every parameter's
// gradient with differences of the reference in double. `inputs` are the case's inputs (rounded to their dtypes),
// `outputs` what the reference gives for them. Returns what is wrong.
std::vector<std::string> gradient_faults(const OpSet& ops, const OpCase& op_case, const std::vector<Reference>& inputs,
                                         const std::vector<Reference>& outputs, uint64_t seed);

}  // namespace tidemark::ops::testing
