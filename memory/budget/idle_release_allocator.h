// Gives cached pages back when nobody has asked for a while: an instance that sleeps leaves its memory to others.
//
// A decorator: it forwards, counts the calls, and a thread of its own trims the allocator below once no call has come
// for `idle`. Blocks in callers' hands stay; pages that a stream may still use go once it is done with them. What is
// asked for next is had from the device again. A device that fails then is logged.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "memory/allocator/allocator.h"

namespace tidemark::memory {

class IdleReleaseAllocator final : public Allocator {
 public:
  // Releases between `idle` (> 0) and a quarter more after the last call. `below` must outlive the object.
  IdleReleaseAllocator(Allocator& below, std::chrono::milliseconds idle);
  ~IdleReleaseAllocator() override;

  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;
  void record_use(std::byte* address, Stream& stream) override { below_.record_use(address, stream); }
  AllocatorStats stats() const override { return below_.stats(); }
  void reset_peaks() override { below_.reset_peaks(); }
  int64_t trim(int64_t cached_bytes) override { return below_.trim(cached_bytes); }

  // From begin to end nothing counts as idle: who computes on its blocks for longer than `idle` makes no pause.
  void begin_work() { ++working_; }
  void end_work();

  // Bytes given back for idleness, and how often some were.
  int64_t released_bytes() const { return released_bytes_; }
  int64_t releases() const { return releases_; }

 private:
  void watch();
  bool release();

  Allocator& below_;
  const std::chrono::milliseconds idle_;
  std::atomic<uint64_t> calls_{0};
  std::atomic<int> working_{0};
  std::atomic<int64_t> released_bytes_{0};
  std::atomic<int64_t> releases_{0};
  std::mutex mutex_;
  std::condition_variable ending_;
  bool ends_ = false;
  std::thread watcher_;
};

}  // namespace tidemark::memory
