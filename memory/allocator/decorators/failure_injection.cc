#include "memory/allocator/decorators/failure_injection.h"

#include <fmt/format.h>

#include "base/bytes.h"
#include "base/error.h"

namespace tidemark::memory {

bool FailureInjection::is_named(int64_t call, int64_t bytes) const {
  const int64_t every = every_;
  return call == refused_call_ || bytes > largest_bytes_ || (every > 0 && (call - since_ + 1) % every == 0);
}

std::byte* FailureInjection::allocate(const AllocationRequest& request) {
  const int64_t call = calls_++;
  if (is_named(call, request.bytes)) {
    ++refused_;
    throw Error(ErrorCode::out_of_memory, fmt::format("request {} of {} for {} is refused as the test says", call,
                                                      format_bytes(request.bytes), to_string(request.category)));
  }
  return upstream().allocate(request);
}

void FailureInjection::refuse_call(int64_t k) { refused_call_ = calls_ + k; }

void FailureInjection::refuse_every(int64_t n) {
  TM_CHECK(n > 0, "every n-th with n <= 0");
  since_ = calls_.load();
  every_ = n;
}

void FailureInjection::stop() {
  refused_call_ = -1;
  every_ = 0;
  largest_bytes_ = std::numeric_limits<int64_t>::max();
}

}  // namespace tidemark::memory
