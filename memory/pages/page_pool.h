// The one pool of physical pages of a process and device. Who needs pages takes them here and gives them back here, so
// that what one part of the program has no use for serves another before the device is asked for more.
//
// Pages in the pool are mapped nowhere. They count as committed at the device; the pool is one of its reclaimers
// (Note [Reclaimers] in device/device_memory.h), so pages that lie here never cause a refusal.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "device/device_memory.h"

namespace tidemark::memory {

// Thread-safe. take() may run reclaimers: the caller must hold no lock that a reclaimer takes.
class PagePool {
 public:
  // The device must outlive the pool.
  explicit PagePool(DeviceMemory& device);
  // Destroys the pages that lie here; those that were taken must be back.
  ~PagePool();
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  DeviceMemory& device() const { return device_; }
  int64_t page_bytes() const { return page_bytes_; }

  // Pages that lie here first, the lowest numbers first, then new ones. All or nothing: throws Error(out_of_memory)
  // with nothing changed. Their contents are anything.
  void take(std::span<PageId> pages);
  // At most `count` of those that lie here, appended; never asks the device.
  void take_cached(int64_t count, std::vector<PageId>& out);
  // They must be mapped nowhere.
  void give_back(std::span<const PageId> pages);

  // Destroys pages until at most so many bytes lie here; returns the bytes that the device got back.
  int64_t trim(int64_t cached_bytes);
  int64_t cached_bytes() const;

 private:
  void sort();
  int64_t destroy_highest(int64_t count);

  DeviceMemory& device_;
  const int64_t page_bytes_;
  mutable std::mutex mutex_;
  std::vector<PageId> cached_;  // the lowest last if sorted_: neighbours make fewer mappings
  bool sorted_ = true;
  int64_t reclaimer_ = 0;
};

}  // namespace tidemark::memory
