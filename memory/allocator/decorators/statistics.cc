#include "memory/allocator/decorators/statistics.h"

#include <algorithm>
#include <bit>

#include "base/error.h"

namespace tidemark::memory {

std::byte* StatisticsAllocator::allocate(const AllocationRequest& request) {
  {
    const std::lock_guard lock(mutex_);
    books_.note_call();
    const int size_class = std::bit_width(static_cast<uint64_t>(request.bytes)) - 1;
    ++calls_by_size_[static_cast<size_t>(std::clamp(size_class, 0, kSizeClasses - 1))];
  }
  try {
    std::byte* data = upstream().allocate(request);
    live_.insert(data, {request.bytes, request.category});
    const std::lock_guard lock(mutex_);
    books_.note_allocated(request.bytes, request.category);
    return data;
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    if (error.code() == ErrorCode::out_of_memory) books_.note_out_of_memory();
    throw;
  }
}

void StatisticsAllocator::deallocate(std::byte* address) {
  const Entry entry = live_.take(address);
  {
    const std::lock_guard lock(mutex_);
    books_.note_freed(entry.bytes, entry.category);
  }
  upstream().deallocate(address);
}

void StatisticsAllocator::reset_peaks() {
  {
    const std::lock_guard lock(mutex_);
    books_.reset_peaks(0);
  }
  upstream().reset_peaks();
}

StatisticsAllocator::Usage StatisticsAllocator::usage() const {
  const std::lock_guard lock(mutex_);
  return {books_.stats(), calls_by_size_};
}

}  // namespace tidemark::memory
