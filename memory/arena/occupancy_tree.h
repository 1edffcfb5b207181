// Which bytes are taken in which sections: a segment tree over sections whose nodes hold sets of byte ranges.
//
// Ranges that touch are merged, and good plans have few holes, so the sets stay short and a query costs near O(log n).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

// Half-open range of bytes.
struct ByteRange {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const ByteRange&) const = default;
};

class OccupancyTree {
 public:
  explicit OccupancyTree(int32_t section_count);

  void occupy(SectionSpan sections, ByteRange bytes);

  bool is_free(SectionSpan sections, ByteRange bytes) const;

  // Lowest multiple of `alignment` at which `bytes` are free in all spans.
  int64_t first_fit(std::span<const SectionSpan> spans, int64_t bytes, int64_t alignment) const;

  // The same in the smallest gap that is large enough, the lowest of equals; above everything if there is none.
  int64_t best_fit(std::span<const SectionSpan> spans, int64_t bytes, int64_t alignment) const;

 private:
  using Ranges = std::vector<ByteRange>;  // sorted, disjoint, not touching
  struct Node {
    Ranges whole;  // of buffers that were split into this node among others: taken in all its sections
    Ranges some;   // of buffers that were split into this node or one below it: taken in some of its sections
  };

  // The sets that bound a query: walked upwards together.
  struct Cursor {
    const ByteRange* at;
    const ByteRange* end;
  };
  void add_cursors(SectionSpan sections, std::vector<Cursor>& cursors) const;
  std::vector<Cursor>& cursors_for(std::span<const SectionSpan> spans) const;

  int32_t leaf_count_ = 1;
  std::vector<Node> nodes_;  // nodes_[1] is the root, the leaves start at leaf_count_
  mutable std::vector<Cursor> cursors_;
};

}  // namespace tidemark::memory
