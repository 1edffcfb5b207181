// Plans for traces that are too large for the exact search as a whole. See Note [Hot core] in hot_core.cc.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/component.h"
#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

struct CorePlan {
  std::vector<int64_t> offsets;  // of all buffers of the trace; -1 outside the component; empty if nothing was found
  int64_t peak_bytes = 0;
  int64_t work = 0;
};

// The best plan found for a component; stops as soon as one has a peak of at most `target_bytes`.
CorePlan plan_around_core(const SectionedTrace& trace, const Component& component, int64_t target_bytes, uint64_t seed,
                          int64_t work_limit);

}  // namespace tidemark::memory
