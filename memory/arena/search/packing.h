// The packing problem in small integers: what the exact search works on.
//
// Sizes and offsets are in units (bytes divided by their greatest common divisor, or rounded up to some unit), times
// are sections (sectioned_trace.h).
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

struct PackingItem {
  int32_t size = 0;           // units, > 0
  int32_t alignment = 1;      // units
  int32_t fixed_offset = -1;  // units, -1 if free
  std::vector<SectionSpan> spans;

  int32_t begin() const { return spans.front().begin; }
  int32_t end() const { return spans.back().end; }
};

struct Packing {
  int32_t section_count = 0;
  std::vector<PackingItem> items;  // sorted by begin()
};

}  // namespace tidemark::memory
