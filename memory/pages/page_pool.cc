#include "memory/pages/page_pool.h"

#include <algorithm>
#include <exception>

#include "base/log.h"

namespace tidemark::memory {

PagePool::PagePool(DeviceMemory& device) : device_(device), page_bytes_(device.granularity_bytes()) {
  reclaimer_ = device_.add_reclaimer([this](int64_t bytes) {
    const std::lock_guard lock(mutex_);
    return destroy_highest((bytes + page_bytes_ - 1) / page_bytes_);
  });
}

PagePool::~PagePool() {
  device_.remove_reclaimer(reclaimer_);
  try {
    trim(0);
  } catch (const std::exception& e) {
    log(LogLevel::error, "page_pool_release_failed", {{"device", device_.name()}, {"reason", e.what()}});
  }
}

void PagePool::sort() {
  if (sorted_) return;
  std::sort(cached_.begin(), cached_.end(), [](PageId a, PageId b) { return a.value > b.value; });
  sorted_ = true;
}

void PagePool::take(std::span<PageId> pages) {
  std::vector<PageId> found;
  take_cached(static_cast<int64_t>(pages.size()), found);
  try {
    // Without the lock: the device may run reclaimers, this pool's among them.
    device_.create_pages(pages.subspan(found.size()));
  } catch (...) {
    give_back(found);
    throw;
  }
  std::copy(found.begin(), found.end(), pages.begin());
}

void PagePool::take_cached(int64_t count, std::vector<PageId>& out) {
  const std::lock_guard lock(mutex_);
  sort();
  for (; count > 0 && !cached_.empty(); --count) {
    out.push_back(cached_.back());
    cached_.pop_back();
  }
}

void PagePool::give_back(std::span<const PageId> pages) {
  if (pages.empty()) return;
  const std::lock_guard lock(mutex_);
  cached_.insert(cached_.end(), pages.begin(), pages.end());
  sorted_ = false;
}

int64_t PagePool::destroy_highest(int64_t count) {
  sort();
  const size_t destroyed = static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(cached_.size())));
  device_.destroy_pages(std::span(cached_).first(destroyed));
  cached_.erase(cached_.begin(), cached_.begin() + static_cast<std::ptrdiff_t>(destroyed));
  return static_cast<int64_t>(destroyed) * page_bytes_;
}

int64_t PagePool::trim(int64_t cached_bytes) {
  const std::lock_guard lock(mutex_);
  return destroy_highest(static_cast<int64_t>(cached_.size()) - cached_bytes / page_bytes_);
}

int64_t PagePool::cached_bytes() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(cached_.size()) * page_bytes_;
}

}  // namespace tidemark::memory
