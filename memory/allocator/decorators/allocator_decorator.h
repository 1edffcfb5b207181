// An allocator over another one. A decorator overrides what it is about; everything else is the upstream's. Decorators
// stack in any order; stats(), reset_peaks() and trim() are those of the allocator at the bottom.
#pragma once

#include "memory/allocator/allocator.h"

namespace tidemark::memory {

// The upstream must outlive the decorator. Thread-safe if the upstream is.
class AllocatorDecorator : public Allocator {
 public:
  explicit AllocatorDecorator(Allocator& upstream) : upstream_(upstream) {}

  std::byte* allocate(const AllocationRequest& request) override { return upstream_.allocate(request); }
  void deallocate(std::byte* address) override { upstream_.deallocate(address); }
  void record_use(std::byte* address, Stream& stream) override { upstream_.record_use(address, stream); }
  AllocatorStats stats() const override { return upstream_.stats(); }
  void reset_peaks() override { upstream_.reset_peaks(); }
  int64_t trim(int64_t cached_bytes) override { return upstream_.trim(cached_bytes); }

 protected:
  Allocator& upstream() const { return upstream_; }

 private:
  Allocator& upstream_;
};

}  // namespace tidemark::memory
