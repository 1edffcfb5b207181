// The CPU kernel as the reference for another device's.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {

// For OpCase::reference: what the CPU kernel of `op` in `ops` (which must outlive the result) gives in one thread.
std::function<std::vector<Reference>(const Attributes&, const std::vector<Reference>&)> cpu_reference(
    const OpSet& ops, const std::string& op);

}  // namespace tidemark::ops::testing
