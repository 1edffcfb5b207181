// One start of the overlap search: offsets, weights and what they overlap. See Note [Overlap search].
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "memory/arena/search/packing.h"

namespace tidemark::memory {

// Which items meet in time. Each such pair has a number.
struct OverlapGraph {
  struct Link {
    int32_t item, pair;
  };
  struct Pair {
    int32_t first, second;
  };

  // `packing` and `largest_offsets` must outlive it.
  OverlapGraph(const Packing& packing, const std::vector<int32_t>& largest_offsets);

  const Packing& packing;
  const std::vector<int32_t>& largest_offsets;
  std::vector<Pair> pairs;
  std::vector<std::vector<Link>> links;  // of each item
  int32_t capacity = 0;                  // the largest of largest offset + size
  int32_t largest_weight = 0;            // of one pair, so that sums over an item's pairs stay in 32 bits
};

class OverlapRun {
 public:
  OverlapRun(const OverlapGraph& graph, uint64_t seed);

  // Goes on until a packing within the largest offsets is found (true) or about `work_limit` more is spent.
  bool advance(int64_t work_limit);

  int64_t work() const { return work_; }
  int64_t least_overlap() const { return least_overlap_; }  // units, over all pairs, at the best moment
  // The lowest packing so far; empty if there was none. Its top in units.
  const std::vector<int32_t>& packed() const { return packed_; }
  int32_t packed_top() const { return packed_top_; }

 private:
  uint32_t below(uint32_t n);
  void push(int32_t item);
  int32_t pop();
  int32_t overlap(int32_t a, int32_t b) const;
  void note_overlap(int32_t pair, int32_t units);
  int64_t cost_here(int32_t item) const;
  int64_t find_best_offset(int32_t item, int32_t& offset);
  void add_slopes(int32_t item);
  void improve(int32_t item);
  bool settle(int64_t end);
  int64_t raise_weights();
  void compact();

  const OverlapGraph& graph_;
  const int32_t item_count_;
  uint64_t random_;
  std::vector<int32_t> offset_, size_;
  std::vector<int32_t> weight_;        // of each pair
  std::vector<int32_t> active_;        // pairs that overlap
  std::vector<int32_t> active_at_;     // of each pair: where in active_, -1 if it does not overlap
  std::vector<int32_t> slope_change_;  // of the cost at each offset, from -capacity
  std::vector<int32_t> queue_;         // ring of items whose neighbourhood changed
  std::vector<char> is_queued_;
  size_t queue_begin_ = 0, queue_end_ = 0;
  int64_t work_ = 0;
  int64_t least_overlap_ = std::numeric_limits<int64_t>::max();
  std::vector<int32_t> packed_;
  int32_t packed_top_ = std::numeric_limits<int32_t>::max();
  std::vector<int32_t> order_, tops_, compacted_;
};

}  // namespace tidemark::memory
