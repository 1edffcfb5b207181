// Random traces for tests: valid by construction, the same for the same seed on every machine.
#pragma once

#include <cstdint>

#include "memory/trace/trace.h"

namespace tidemark::memory {

struct RandomTraceOptions {
  uint64_t seed = 1;
  int buffers = 20;
  int steps = 20;
  int64_t max_bytes = 100;
  // Shares of the buffers that have the feature, in percent.
  int gaps_percent = 0;
  int alignment_percent = 0;  // 2 to 64 bytes
  int fixed_percent = 0;      // fewer where they would clash
  int alias_percent = 0;      // groups of about two
};

Trace random_trace(const RandomTraceOptions& options);

}  // namespace tidemark::memory
