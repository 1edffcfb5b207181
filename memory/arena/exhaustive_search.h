// The least peak of a small trace by trying every placement that matters: the reference that tests hold planners
// against.
#pragma once

#include <cstdint>

#include "memory/trace/trace.h"

namespace tidemark::memory {

// Up to about 7 buffers. Takes fixed offsets, alignment, gaps and alias groups into account.
int64_t exhaustive_least_peak(const Trace& trace);

// Whether some placement has a peak of at most capacity_bytes: up to about 12 buffers where it is tight.
bool exhaustive_fits(const Trace& trace, int64_t capacity_bytes);

}  // namespace tidemark::memory
