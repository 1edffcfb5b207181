// Passes every call on and writes it down.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/call_trace/call_trace.h"

namespace tidemark::memory {

class RecordingAllocator final : public AllocatorDecorator {
 public:
  RecordingAllocator(Allocator& upstream, std::string name)
      : AllocatorDecorator(upstream), trace_{std::move(name), {}} {}

  // A refused call is not written down.
  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;

  // What was called so far.
  CallTrace trace() const;

 private:
  mutable std::mutex mutex_;
  CallTrace trace_;
  std::unordered_map<std::byte*, int64_t> ids_;
  int64_t next_id_ = 0;
};

}  // namespace tidemark::memory
