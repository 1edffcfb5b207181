// What an allocator's figures say, for people.
#pragma once

#include <string>
#include <vector>

#include "device/device_memory.h"
#include "memory/allocator/allocator.h"

namespace tidemark::memory {

// A block in a caller's hands.
struct LiveBlock {
  std::byte* data = nullptr;
  int64_t bytes = 0;  // as asked for
  Category category = Category::user;
};

// The message of a refusal: wanted and missing, free, allocated, reserved, cached, budget, the largest users, and what
// to do.
std::string describe_refusal(const AllocationRequest& request, int64_t missing_bytes, const AllocatorStats& stats,
                             const std::vector<LiveBlock>& live, const DeviceMemory& device);

// A table of several lines: each figure, its peak, and allocated by category.
std::string memory_summary(const AllocatorStats& stats);

// The identities of allocator.h that do not hold, in words; empty if all do. page_bytes: of the device.
std::string find_fault(const AllocatorStats& stats, int64_t page_bytes);

// What empty_cache() did.
struct EmptiedCache {
  int64_t released_bytes = 0;        // given back to the device
  CategoryBytes live_by_category{};  // what stays because callers hold it
  int64_t slack_bytes = 0;           // what stays because it lies beside live blocks
  int64_t pending_bytes = 0;         // what stays because a stream may still use it
  int64_t cached_bytes = 0;          // what others freed meanwhile
};

// Gives all cached pages back to the device.
EmptiedCache empty_cache(Allocator& allocator);

}  // namespace tidemark::memory
