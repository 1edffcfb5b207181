// Where one item overlaps its neighbours least, of the places that a packing can be made of.
//
// The weighted overlap with one neighbour, over the item's offset, goes up, stays level and goes down. Places where the
// item lies on the ground, or ends or begins where a neighbour begins or ends (or has its full overlap), are enough: a
// packing stays one when all that hangs free is let down. To hang from the top end counts for nothing, and a search
// that takes it for a good place ends with more overlap. So only offsets where some slope changes are visited, in
// order: a bit for each says where they are.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace tidemark::memory::recompute {

class LeastOverlap {
 public:
  struct Best {
    int32_t offset = 0;
    int64_t cost = std::numeric_limits<int64_t>::max();  // units of overlap x weight, over the neighbours
  };

  // Items lie within [0, capacity) units, and are no larger.
  explicit LeastOverlap(int32_t capacity)
      : capacity_(capacity),
        change_(2 * static_cast<size_t>(capacity) + 1),
        is_change_((2 * static_cast<size_t>(capacity) + 1) / kBits + 1) {}

  // Of the item to come, 1 to capacity.
  void begin(int32_t size) { size_ = size; }

  void add_neighbour(int32_t offset, int32_t size, int32_t weight) {
    const int32_t level = size_ < size ? size_ : size;  // units of the full overlap
    change(offset - size_, weight);
    change(offset - size_ + level, -weight);
    change(offset + size - level, -weight);
    change(offset + size, weight);
  }

  // Forgets the neighbours. Among equally good places any, by below(count), which gives a random number in [0, count).
  template <class Below>
  Best best(Below below) {
    Best found;
    int64_t cost = 0, slope = 0, ties = 0;
    int32_t at = -size_;
    const int32_t largest = capacity_ - size_;
    const auto look = [&](int32_t offset) {
      cost += slope * (offset - at);
      at = offset;
      if (offset < 0 || offset > largest || cost > found.cost) return;
      ties = cost < found.cost ? 1 : ties + 1;
      if (ties == 1 || below(ties) == 0) found.offset = offset;
      found.cost = cost;
    };
    bool has_begun = false;
    visit_changes([&](int32_t offset, int32_t by) {
      if (!has_begun && offset > 0) look(0);
      has_begun = has_begun || offset >= 0;
      look(offset);
      slope += by;
    });
    if (!has_begun) look(0);
    return found;
  }

 private:
  static constexpr size_t kBits = 64;

  void change(int32_t offset, int32_t by) {
    const auto i = static_cast<size_t>(offset + capacity_);
    change_[i] += by;
    is_change_[i / kBits] |= uint64_t{1} << (i % kBits);
  }

  // In the order of the offsets; clears them.
  template <class Visit>
  void visit_changes(Visit visit) {
    for (size_t w = static_cast<size_t>(capacity_ - size_) / kBits; w < is_change_.size(); ++w) {
      for (uint64_t word = is_change_[w]; word != 0; word &= word - 1) {
        const size_t i = w * kBits + static_cast<size_t>(std::countr_zero(word));
        visit(static_cast<int32_t>(i) - capacity_, change_[i]);
        change_[i] = 0;
      }
      is_change_[w] = 0;
    }
  }

  const int32_t capacity_;
  int32_t size_ = 1;
  std::vector<int32_t> change_;      // of the slope, at each offset from -capacity
  std::vector<uint64_t> is_change_;  // a bit for each
};

}  // namespace tidemark::memory::recompute
