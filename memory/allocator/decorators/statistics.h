// What the callers of one allocator ask for: figures of these callers alone, where several share an allocator.
#pragma once

#include <array>
#include <mutex>

#include "memory/allocator/allocation_books.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/allocator/decorators/live_table.h"

namespace tidemark::memory {

class StatisticsAllocator final : public AllocatorDecorator {
 public:
  static constexpr int kSizeClasses = 48;

  struct Usage {
    AllocatorStats callers;  // requested, allocated, peaks, live blocks, calls and refusals; nothing about pages
    std::array<int64_t, kSizeClasses> calls_by_size{};  // [i]: requests of 2^i to 2^(i+1) - 1 bytes
  };

  using AllocatorDecorator::AllocatorDecorator;

  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;
  void reset_peaks() override;

  Usage usage() const;

 private:
  struct Entry {
    int64_t bytes;
    Category category;
  };

  mutable std::mutex mutex_;
  AllocationBooks books_;
  std::array<int64_t, kSizeClasses> calls_by_size_{};
  LiveTable<Entry> live_;
};

}  // namespace tidemark::memory
