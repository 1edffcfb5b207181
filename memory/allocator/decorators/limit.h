// A limit on what the callers of one allocator hold, below the device's: one user of several, or one part of a program.
#pragma once

#include <atomic>
#include <string>

#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/allocator/decorators/live_table.h"

namespace tidemark::memory {

class LimitingAllocator final : public AllocatorDecorator {
 public:
  // `name` is what the refusal calls the user. Bytes count rounded up to kAllocationAlignment.
  LimitingAllocator(Allocator& upstream, std::string name, int64_t limit_bytes);

  // Throws Error(out_of_memory) with both numbers if it would cross the limit.
  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;

  // What is held already stays.
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }
  int64_t limit_bytes() const { return limit_bytes_; }
  int64_t held_bytes() const { return held_bytes_; }

 private:
  const std::string name_;
  std::atomic<int64_t> limit_bytes_;
  std::atomic<int64_t> held_bytes_{0};
  LiveTable<int64_t> live_;
};

}  // namespace tidemark::memory
