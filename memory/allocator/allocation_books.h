// What callers hold, in numbers.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/category.h"
#include "memory/allocator/allocator.h"

namespace tidemark::memory {

// More than any device has; what is asked for beyond it is refused before anything is counted in pages.
inline constexpr int64_t kLargestBlockBytes = int64_t{1} << 50;

inline int64_t round_up_to_alignment(int64_t bytes) {
  return (bytes + kAllocationAlignment - 1) / kAllocationAlignment * kAllocationAlignment;
}

class AllocationBooks {
 public:
  void note_allocated(int64_t bytes, Category category) {
    const int64_t rounded = round_up_to_alignment(bytes);
    stats_.allocated_by_category[static_cast<size_t>(category)] += rounded;
    stats_.allocated_bytes += rounded;
    stats_.requested_bytes += bytes;
    ++stats_.live_blocks;
    stats_.allocated_peak_bytes = std::max(stats_.allocated_peak_bytes, stats_.allocated_bytes);
    stats_.requested_peak_bytes = std::max(stats_.requested_peak_bytes, stats_.requested_bytes);
  }
  void note_freed(int64_t bytes, Category category) {
    const int64_t rounded = round_up_to_alignment(bytes);
    stats_.allocated_by_category[static_cast<size_t>(category)] -= rounded;
    stats_.allocated_bytes -= rounded;
    stats_.requested_bytes -= bytes;
    --stats_.live_blocks;
  }
  void note_reserved(int64_t reserved_bytes) {
    stats_.reserved_peak_bytes = std::max(stats_.reserved_peak_bytes, reserved_bytes);
  }
  void note_call() { ++stats_.allocations; }
  void note_hit() { ++stats_.hits; }
  void note_retry() { ++stats_.retries; }
  void note_out_of_memory() { ++stats_.out_of_memory; }
  void reset_peaks(int64_t reserved_bytes) {
    stats_.requested_peak_bytes = stats_.requested_bytes;
    stats_.allocated_peak_bytes = stats_.allocated_bytes;
    stats_.reserved_peak_bytes = reserved_bytes;
  }

  // Everything but what hangs on pages: reserved, cached, pending, slack, free.
  const AllocatorStats& stats() const { return stats_; }

 private:
  AllocatorStats stats_;
};

}  // namespace tidemark::memory
