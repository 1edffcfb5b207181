// What OffsetPlanner::fit refuses before it plans.
#pragma once

#include <cstdint>

#include "memory/trace/trace.h"

namespace tidemark::memory {

// Throws Error(config) if the capacity is negative or smaller than one buffer, naming the buffer.
void check_capacity(const Trace& trace, int64_t capacity_bytes);

}  // namespace tidemark::memory
