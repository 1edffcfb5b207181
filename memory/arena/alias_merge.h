// Members of an alias group that are equally large and live at a common step become one buffer with both lifetimes.
//
// The result is a restriction (they must share their bytes) that nearly always is the best choice, and leaves
// rectangles only for the exact search. Members of different sizes keep their group.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

struct MergedTrace {
  SectionedTrace sections;
  std::vector<int32_t> merged_index;  // of each buffer of the original: its place in `sections`
  bool has_alias = false;             // some group had two members: what is impossible here may be possible there
};

MergedTrace merge_alias_groups(const SectionedTrace& trace);

}  // namespace tidemark::memory
