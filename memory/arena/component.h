// Parts of a trace that no buffer connects in time: each can be planned on its own.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

struct Component {
  SectionSpan sections;
  std::vector<int32_t> buffers;
  int64_t lower_bound_bytes = 0;      // of this part alone
  int64_t exhausted_below_bytes = 0;  // the exact search finds nothing lower, which need not be a proof
  int64_t peak_bytes = 0;             // of the best offsets so far
  bool is_from_search = false;        // these offsets are the exact search's
};

std::vector<Component> split_in_time(const SectionedTrace& trace);

}  // namespace tidemark::memory
