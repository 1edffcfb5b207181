#include "memory/call_trace/recording_allocator.h"

#include "base/error.h"

namespace tidemark::memory {

// Written down after the block is there and before it goes back: another thread that gets the address next comes later
// in the trace, and the upstream is called without the lock, since it may ask somebody who gives blocks back.
std::byte* RecordingAllocator::allocate(const AllocationRequest& request) {
  std::byte* address = upstream().allocate(request);
  const std::lock_guard lock(mutex_);
  trace_.calls.push_back({next_id_, request.bytes, request.category});
  ids_[address] = next_id_++;
  return address;
}

void RecordingAllocator::deallocate(std::byte* address) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find(address);
    TM_CHECK(found != ids_.end(), "deallocate of an address that was not allocated here");
    trace_.calls.push_back({found->second, 0, Category::user});
    ids_.erase(found);
  }
  upstream().deallocate(address);
}

CallTrace RecordingAllocator::trace() const {
  const std::lock_guard lock(mutex_);
  return trace_;
}

}  // namespace tidemark::memory
