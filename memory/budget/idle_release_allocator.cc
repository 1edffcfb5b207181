#include "memory/budget/idle_release_allocator.h"

#include <algorithm>
#include <exception>

#include "base/error.h"
#include "base/log.h"

namespace tidemark::memory {

IdleReleaseAllocator::IdleReleaseAllocator(Allocator& below, std::chrono::milliseconds idle)
    : below_(below), idle_(idle) {
  TM_CHECK(idle.count() > 0, "idle time of an allocator");
  watcher_ = std::thread([this] { watch(); });
}

IdleReleaseAllocator::~IdleReleaseAllocator() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ending_.notify_all();
  watcher_.join();
}

std::byte* IdleReleaseAllocator::allocate(const AllocationRequest& request) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  return below_.allocate(request);
}

void IdleReleaseAllocator::deallocate(std::byte* address) {
  calls_.fetch_add(1, std::memory_order_relaxed);
  below_.deallocate(address);
}

// The pause begins now.
void IdleReleaseAllocator::end_work() {
  calls_.fetch_add(1, std::memory_order_relaxed);
  --working_;
}

// Looks four times per idle time whether calls came: the calls themselves read no clock.
void IdleReleaseAllocator::watch() {
  using Clock = std::chrono::steady_clock;
  uint64_t seen = calls_.load(std::memory_order_relaxed);
  auto since = Clock::now();
  bool released = false;
  std::unique_lock lock(mutex_);
  while (!ending_.wait_for(lock, std::max(idle_ / 4, std::chrono::milliseconds(1)), [this] { return ends_; })) {
    const uint64_t calls = calls_.load(std::memory_order_relaxed);
    if (calls != seen || working_ > 0) {
      seen = calls;
      since = Clock::now();
      released = false;
    }
    if (!released && Clock::now() - since >= idle_) released = release();
  }
}

// True if there is nothing left to give back. What a stream may still use is looked at again: a first look only asks
// the stream.
bool IdleReleaseAllocator::release() {
  try {
    const int64_t bytes = below_.trim(0);
    if (bytes > 0) {
      released_bytes_ += bytes;
      ++releases_;
      log(LogLevel::info, "idle_release", {{"bytes", bytes}, {"idle_ms", static_cast<int64_t>(idle_.count())}});
    }
    const AllocatorStats left = below_.stats();
    return left.cached_bytes + left.pending_bytes == 0;
  } catch (const std::exception& e) {
    // Nobody waits for this thread's answer; the caller of the next allocate() hears of a broken device.
    log(LogLevel::error, "idle_release_failed", {{"reason", e.what()}});
    return true;
  }
}

}  // namespace tidemark::memory
