// Tries a refused request again, after giving cached memory back and asking somebody for more.
#pragma once

#include <functional>

#include "memory/allocator/decorators/allocator_decorator.h"

namespace tidemark::memory {

struct RetryOptions {
  int attempts = 3;  // in all, at least 1
  // Asked before each further attempt, on the calling thread; false gives up. Empty: yes.
  std::function<bool(const AllocationRequest& refused, int attempt)> before_retry;
};

class RetryingAllocator final : public AllocatorDecorator {
 public:
  explicit RetryingAllocator(Allocator& upstream, RetryOptions options = {});

  // The last attempt's error is the caller's.
  std::byte* allocate(const AllocationRequest& request) override;

 private:
  const RetryOptions options_;
};

}  // namespace tidemark::memory
