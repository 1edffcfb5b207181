// All schedules of a tiny trace, for tests: what the planners are held against.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct ExhaustivePoint {
  int64_t peak_bytes = 0;
  int64_t extra_cost = 0;
};

// The plans that no other beats in both, lowest peak first, over every set of (stage, step) pairs: before each step of
// the trace, and after the last, any earlier steps may run again, in the trace's order. 2^(n(n+1)/2) schedules: at most
// 6 steps that may repeat.
std::vector<ExhaustivePoint> exhaustive_frontier(const StepTrace& trace);

}  // namespace tidemark::memory
