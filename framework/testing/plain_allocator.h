// An allocator over the plain heap that counts, and refuses when it is told to; for tests that are not about any
// allocator.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <string>

#include "base/error.h"
#include "framework/testing/aligned_bytes.h"
#include "memory/allocator/allocator.h"

namespace tidemark::testing {

class PlainAllocator : public memory::Allocator {
 public:
  // From now on `grants` requests are served, then `refusals` are refused, then all are served again.
  void refuse_after(int64_t grants, int64_t refusals = std::numeric_limits<int64_t>::max()) {
    grants_left_ = grants;
    refusals_left_ = refusals;
  }
  void allow() { refusals_left_ = 0; }

  std::byte* allocate(const memory::AllocationRequest& request) override {
    TM_CHECK(request.bytes > 0, "empty request");
    ++stats_.allocations;
    if (grants_left_ > 0) {
      --grants_left_;
    } else if (refusals_left_ > 0) {
      --refusals_left_;
      ++stats_.out_of_memory;
      throw Error(ErrorCode::out_of_memory, "refused by the test, " + std::to_string(request.bytes) + " bytes");
    }
    AlignedBytes bytes(request.bytes);
    std::byte* address = bytes.data();
    stats_.allocated_bytes += request.bytes;
    stats_.allocated_peak_bytes = std::max(stats_.allocated_peak_bytes, stats_.allocated_bytes);
    stats_.allocated_by_category[static_cast<size_t>(request.category)] += request.bytes;
    ++stats_.live_blocks;
    blocks_.emplace(address, Live{std::move(bytes), request});
    return address;
  }

  // Dead bytes are overwritten, so that a late reader is seen.
  void deallocate(std::byte* address) override {
    const auto found = blocks_.find(address);
    TM_CHECK(found != blocks_.end(), "not a live block");
    const memory::AllocationRequest& request = found->second.request;
    std::memset(address, 0xdd, static_cast<size_t>(request.bytes));
    stats_.allocated_bytes -= request.bytes;
    stats_.allocated_by_category[static_cast<size_t>(request.category)] -= request.bytes;
    --stats_.live_blocks;
    blocks_.erase(found);
  }

  void record_use(std::byte*, Stream&) override {}
  memory::AllocatorStats stats() const override { return stats_; }
  void reset_peaks() override { stats_.allocated_peak_bytes = stats_.allocated_bytes; }
  int64_t trim(int64_t) override { return 0; }

 private:
  struct Live {
    AlignedBytes bytes;
    memory::AllocationRequest request;
  };

  std::map<std::byte*, Live> blocks_;
  memory::AllocatorStats stats_;
  int64_t grants_left_ = 0;
  int64_t refusals_left_ = 0;
};

}  // namespace tidemark::testing
