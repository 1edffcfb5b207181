// Refuses the requests that a test names, so that what follows a refusal can be tested where there is memory enough.
#pragma once

#include <atomic>
#include <limits>

#include "memory/allocator/decorators/allocator_decorator.h"

namespace tidemark::memory {

class FailureInjection final : public AllocatorDecorator {
 public:
  using AllocatorDecorator::AllocatorDecorator;

  // Throws Error(out_of_memory) for a named request; the upstream does not see it.
  std::byte* allocate(const AllocationRequest& request) override;

  // The k-th request from now on (0: the very next) is refused, once.
  void refuse_call(int64_t k);
  // Every n-th request from now on is refused, n > 0.
  void refuse_every(int64_t n);
  // Every request of more bytes is refused.
  void refuse_above(int64_t bytes) { largest_bytes_ = bytes; }
  // Refuses nothing from now on.
  void stop();

  int64_t calls() const { return calls_; }      // requests so far, refused or not
  int64_t refused() const { return refused_; }  // so far

 private:
  bool is_named(int64_t call, int64_t bytes) const;

  std::atomic<int64_t> calls_{0};
  std::atomic<int64_t> refused_{0};
  std::atomic<int64_t> refused_call_{-1};
  std::atomic<int64_t> every_{0};
  std::atomic<int64_t> since_{0};  // the call that refuse_every() counts from
  std::atomic<int64_t> largest_bytes_{std::numeric_limits<int64_t>::max()};
};

}  // namespace tidemark::memory
