// Exact search for a packing within a capacity. See Note [Valley search] in valley_search.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/arena/search/packing.h"

namespace tidemark::memory {

enum class SearchVerdict { found, impossible, stopped };  // stopped: the work limit ended it

struct SearchResult {
  SearchVerdict verdict = SearchVerdict::stopped;
  std::vector<int32_t> offsets;  // units, parallel to the items; only if found
  int64_t work = 0;              // sections looked at
};

// Keeps its tables between calls for one packing.
class ValleySearch {
 public:
  virtual ~ValleySearch() = default;

  // `largest_offsets` of each item in units; capacity = the largest of those + size. `guide`: offsets of a packing that
  // is a little too high, as advice; may be empty.
  virtual SearchResult run(const std::vector<int32_t>& largest_offsets, const std::vector<int32_t>& guide,
                           uint64_t seed, int64_t work_limit) = 0;
};

// The fastest version that this CPU runs; the result is the same on every one. `packing` must outlive it.
std::unique_ptr<ValleySearch> make_valley_search(const Packing& packing, int32_t largest_capacity);

}  // namespace tidemark::memory

namespace tidemark {
// One version per level of the instruction set (bazel/simd).
#define TM_DECLARE_VALLEY_SEARCH(isa)                                                                                 \
  namespace isa {                                                                                                     \
  std::unique_ptr<memory::ValleySearch> make_valley_search(const memory::Packing& packing, int32_t largest_capacity); \
  }
TM_DECLARE_VALLEY_SEARCH(isa_v2)
TM_DECLARE_VALLEY_SEARCH(isa_v3)
TM_DECLARE_VALLEY_SEARCH(isa_v4)
#undef TM_DECLARE_VALLEY_SEARCH
}  // namespace tidemark
