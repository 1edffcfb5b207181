#include "memory/allocator/decorators/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "memory/allocator/allocation_books.h"

namespace tidemark::memory {

LimitingAllocator::LimitingAllocator(Allocator& upstream, std::string name, int64_t limit_bytes)
    : AllocatorDecorator(upstream), name_(std::move(name)), limit_bytes_(limit_bytes) {}

std::byte* LimitingAllocator::allocate(const AllocationRequest& request) {
  const int64_t bytes = round_up_to_alignment(std::min(request.bytes, kLargestBlockBytes));
  // Booked before it is asked for: two threads never cross the limit together.
  const int64_t held = held_bytes_ += bytes;
  if (held > limit_bytes_) {
    held_bytes_ -= bytes;
    throw Error(ErrorCode::out_of_memory,
                fmt::format("'{}' asks for {} with {} held, its limit is {}; raise its limit or free blocks", name_,
                            format_bytes(bytes), format_bytes(held - bytes), format_bytes(limit_bytes_)));
  }
  try {
    std::byte* data = upstream().allocate(request);
    live_.insert(data, bytes);
    return data;
  } catch (...) {
    held_bytes_ -= bytes;
    throw;
  }
}

void LimitingAllocator::deallocate(std::byte* address) {
  held_bytes_ -= live_.take(address);
  upstream().deallocate(address);
}

}  // namespace tidemark::memory
