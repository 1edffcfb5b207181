// Variants of a trace that are the same problem: a planner whose speed hangs on one of these differences was lucky.
#pragma once

#include <cstdint>

#include "memory/trace/trace.h"

namespace tidemark::memory {

struct TraceVariant {
  Trace trace;
  int64_t scale = 1;          // bytes, offsets and so the capacity are this many times the original's
  uint64_t planner_seed = 1;  // another one for every variant
};

// Variant 0 is the trace itself. Others have their buffers shuffled and new ids; in odd ones time is reversed, in those
// whose number has bit 1 all bytes are tripled (not in traces with alignment).
TraceVariant make_variant(const Trace& trace, uint64_t number);

}  // namespace tidemark::memory
