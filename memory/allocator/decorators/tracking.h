// Who holds what: every block belongs to the owner that the calling thread has named.
//
//   TrackingAllocator tracking(allocator);
//   const MemoryOwner owner("layer7/attention");   // until the end of the scope; scopes nest
//   std::byte* data = tracking.allocate({bytes});
//   for (const auto& holding : tracking.holdings()) ...
#pragma once

#include <string>
#include <vector>

#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/allocator/decorators/live_table.h"

namespace tidemark::memory {

// Names the owner of what this thread allocates. Ends in the reverse order of its beginning.
class MemoryOwner {
 public:
  explicit MemoryOwner(std::string name);
  ~MemoryOwner();
  MemoryOwner(const MemoryOwner&) = delete;
  MemoryOwner& operator=(const MemoryOwner&) = delete;

  // "nobody" outside of all scopes.
  static const std::string& current();

 private:
  std::string name_;
  const MemoryOwner* outer_;
};

struct Holding {
  std::string owner;
  int64_t blocks = 0;
  int64_t bytes = 0;  // as asked for
};

class TrackingAllocator final : public AllocatorDecorator {
 public:
  using AllocatorDecorator::AllocatorDecorator;

  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;

  // By owner, the largest first.
  std::vector<Holding> holdings() const;

 private:
  struct Entry {
    int64_t bytes;
    std::string owner;
  };
  LiveTable<Entry> live_;
};

}  // namespace tidemark::memory
