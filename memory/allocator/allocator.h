// Memory for what cannot be planned: shapes that nobody has seen, inference, user code.
//
// Figures, each its own, in bytes:
//   requested   what callers asked for
//   allocated   blocks in callers' hands, rounded up to kAllocationAlignment; by category
//   reserved    pages that the allocator holds: allocated + cached + pending + slack
//   cached      wholly free pages that can be used at once
//   pending     wholly free pages that some stream may still use
//   slack       the rest of the pages: what lies beside live blocks in their pages
// A request succeeds whenever its size, rounded up to pages, is at most device-free + cached + pending (waiting for
// streams if need be), within the device's limit.
//
// To add an allocator decorator: one .h/.cc with a class that wraps another Allocator, one line in the conformance
// suite (allocator_conformance.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/category.h"
#include "device/stream.h"

namespace tidemark::memory {

// Every address is a multiple of it; what CUDA's own allocator gives.
inline constexpr int64_t kAllocationAlignment = 256;

struct AllocationRequest {
  int64_t bytes = 0;  // > 0
  Category category = Category::user;
  Stream* stream = nullptr;  // that uses the block; nullptr: the calling thread, at once
};

struct AllocatorStats {
  CategoryBytes allocated_by_category{};
  int64_t requested_bytes = 0;
  int64_t allocated_bytes = 0;
  int64_t reserved_bytes = 0;
  int64_t cached_bytes = 0;
  int64_t pending_bytes = 0;
  int64_t slack_bytes = 0;
  int64_t requested_peak_bytes = 0;  // peaks since the start or reset_peaks(), each of its own moment
  int64_t allocated_peak_bytes = 0;
  int64_t reserved_peak_bytes = 0;
  int64_t largest_free_block_bytes = 0;  // largest request that needs no more pages from the device
  int64_t live_blocks = 0;
  int64_t allocations = 0;    // calls since the start
  int64_t hits = 0;           // of them served without new pages or mappings
  int64_t retries = 0;        // served only after cached memory went back or a stream was waited for
  int64_t out_of_memory = 0;  // refused
  int64_t device_free_bytes = 0;
};

// Thread-safe. Everything it gave must be back before it is destroyed; what is not is logged as a leak.
class Allocator {
 public:
  virtual ~Allocator() = default;

  // Never nullptr. Throws Error(out_of_memory) with the picture: wanted, free, allocated, reserved, cached, budget and
  // the largest users. The contents are anything.
  virtual std::byte* allocate(const AllocationRequest& request) = 0;
  // Gives back what allocate() gave (TM_CHECK: nothing else). Work that the block's streams were given before this call
  // may still use it: whoever gets the bytes next on another stream waits for that work. Throws nothing.
  virtual void deallocate(std::byte* address) = 0;
  // Work of another stream uses the block too, up to what the stream has been given when the block goes back.
  virtual void record_use(std::byte* address, Stream& stream) = 0;

  virtual AllocatorStats stats() const = 0;
  virtual void reset_peaks() = 0;
  // Gives cached pages back to the device until at most `cached_bytes` of them are left; returns the bytes given back.
  // Does not wait for streams.
  virtual int64_t trim(int64_t cached_bytes) = 0;
};

// A block that goes back by itself. Empty by default.
class Block {
 public:
  Block() = default;
  Block(Allocator& allocator, const AllocationRequest& request)
      : allocator_(&allocator), data_(allocator.allocate(request)), bytes_(request.bytes) {}
  Block(Block&& other) noexcept { swap(other); }
  Block& operator=(Block&& other) noexcept {
    Block taken(std::move(other));
    swap(taken);
    return *this;
  }
  ~Block() {
    if (data_) allocator_->deallocate(data_);
  }

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  void swap(Block& other) noexcept {
    std::swap(allocator_, other.allocator_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
  }

  Allocator* allocator_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace tidemark::memory
