// Places buffers one at a time at the lowest or tightest free offset, in an order given from outside.
//
// Fixed offsets, alignment, gaps in lifetimes and alias groups are kept. O(n log n) for tight plans.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "memory/arena/occupancy_tree.h"
#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

enum class FitRule { first, best };

// What placing one buffer costs, in units of work of the exact search (one look at one section).
inline constexpr int64_t kGreedyWork = 24;

class GreedyPlacement {
 public:
  explicit GreedyPlacement(const SectionedTrace& trace);  // `trace` must outlive it; fixed buffers are placed here

  // Gives a buffer an offset that the caller answers for.
  void place_at(int32_t buffer, int64_t offset);
  void place(int32_t buffer, FitRule rule);
  // Places every buffer of `order` that has no offset yet.
  void place_all(std::span<const int32_t> order, FitRule rule);

  const std::vector<int64_t>& offsets() const { return offsets_; }  // -1 where not placed
  int64_t peak_bytes() const { return peak_bytes_; }

 private:
  std::optional<int64_t> lowest_shared_offset(int32_t buffer) const;
  bool fits_among_mates(int32_t buffer, int64_t offset, const std::vector<int32_t>& mates) const;

  const SectionedTrace& trace_;
  OccupancyTree taken_;
  std::vector<int64_t> offsets_;
  int64_t peak_bytes_ = 0;
  std::unordered_map<int64_t, std::vector<int32_t>> placed_of_group_;
};

}  // namespace tidemark::memory
