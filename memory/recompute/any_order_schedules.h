// The best of all schedules of a small trace, for tests: what lower bounds are held against.
#pragma once

#include <cstdint>
#include <optional>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

// Least extra cost of a schedule within the budget, repeated runs in any order at any place; nothing if there is none.
// A shortest path over (first runs done, set of values that are there): at most 20 values that are not persistent.
std::optional<int64_t> least_extra_cost_in_any_order(const StepTrace& trace, int64_t budget_bytes);

}  // namespace tidemark::memory
