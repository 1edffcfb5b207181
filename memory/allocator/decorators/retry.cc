#include "memory/allocator/decorators/retry.h"

#include <utility>

#include "base/error.h"

namespace tidemark::memory {

RetryingAllocator::RetryingAllocator(Allocator& upstream, RetryOptions options)
    : AllocatorDecorator(upstream), options_(std::move(options)) {
  TM_CHECK(options_.attempts >= 1, "no attempt");
}

std::byte* RetryingAllocator::allocate(const AllocationRequest& request) {
  for (int attempt = 1;; ++attempt) {
    try {
      return upstream().allocate(request);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory || attempt >= options_.attempts) throw;
      if (options_.before_retry && !options_.before_retry(request, attempt)) throw;
    }
    upstream().trim(0);
  }
}

}  // namespace tidemark::memory
