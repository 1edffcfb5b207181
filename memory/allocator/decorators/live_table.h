// What a decorator remembers of each live block, by address.
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "base/error.h"

namespace tidemark::memory {

// Thread-safe.
template <class Entry>
class LiveTable {
 public:
  void insert(std::byte* address, Entry entry) {
    const std::lock_guard lock(mutex_);
    entries_.insert_or_assign(address, std::move(entry));
  }
  // Takes the entry of a live block out (TM_CHECK).
  Entry take(std::byte* address) {
    const std::lock_guard lock(mutex_);
    const auto entry = entries_.find(address);
    TM_CHECK(entry != entries_.end(), "the block is not of this allocator");
    Entry taken = std::move(entry->second);
    entries_.erase(entry);
    return taken;
  }
  template <class Visit>
  void visit(Visit visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, entry] : entries_) visit(address, entry);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::byte*, Entry> entries_;
};

}  // namespace tidemark::memory
