// Packings by local search: items may overlap at first, and the overlaps are worked off. See Note [Overlap search] in
// overlap_search.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/arena/search/packing.h"

namespace tidemark::memory {

// The search looks at every offset, so it wants sizes with a large common divisor.
inline constexpr int32_t kLargestOverlapCapacity = 16384;
// Weights are kept for every pair that meets in time and every start.
inline constexpr size_t kLargestOverlapItems = 1000;

struct OverlapResult {
  std::vector<int32_t> offsets;  // units, parallel to the items: the lowest packing found; may be empty
  int64_t work = 0;              // in units of the exact search
};

// Looks for a packing with every offset at most the item's largest one (none of them negative; offset + size at most
// kLargestOverlapCapacity), and stops at the first. What it returns is always a packing, but it can be higher than
// that.
OverlapResult search_overlaps(const Packing& packing, const std::vector<int32_t>& largest_offsets, uint64_t seed,
                              int64_t work_limit);

}  // namespace tidemark::memory
