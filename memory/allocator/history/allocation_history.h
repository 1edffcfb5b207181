// What an allocator did: the last events in a ring, and of every live block when and where in the program it was taken.
// For looking at leaks and peaks; costs microseconds a call with stacks, a lock and a hash table without.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "memory/allocator/allocator.h"
#include "memory/allocator/history/memory_snapshot.h"
#include "memory/allocator/history/stack_table.h"

namespace tidemark::memory {

struct HistoryOptions {
  bool capture_stacks = false;  // of every allocation
  int64_t kept_events = 0;      // the latest ones; 0: none
};

// Thread-safe. note_freed() must come before the address can be given to somebody else, note_allocated() after.
class AllocationHistory {
 public:
  explicit AllocationHistory(const HistoryOptions& options);

  void note_allocated(std::byte* address, const AllocationRequest& request);
  void note_freed(std::byte* address);  // an address that it does not know is ignored
  void note_refused(const AllocationRequest& request);
  void note_trimmed(int64_t bytes);

  // Blocks in the order in which they were taken, events in theirs, stacks with names.
  MemorySnapshot snapshot() const;
  // Live blocks by category and stack, the largest sums first.
  std::vector<LeakedBlocks> live_by_stack() const;

 private:
  struct Entry {
    int64_t bytes = 0;
    Category category = Category::user;
    StackNumber stack = kNoStack;
    int64_t time_us = 0;
  };
  struct Event {
    MemoryEvent::Kind kind;
    std::byte* address = nullptr;
    Entry entry;
    int32_t thread = 0;
  };

  int64_t now_us() const;
  void keep(const Event& event);

  const HistoryOptions options_;
  const std::chrono::steady_clock::time_point start_;
  mutable std::mutex mutex_;
  StackTable stacks_;
  std::unordered_map<std::byte*, Entry> live_;
  std::vector<Event> ring_;
  size_t events_ = 0;  // so far; the next place is events_ % kept_events
};

}  // namespace tidemark::memory
