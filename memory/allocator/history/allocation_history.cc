#include "memory/allocator/history/allocation_history.h"

#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

namespace tidemark::memory {
namespace {

// Of a stack, the history's and the allocator's own frames tell nothing.
constexpr int kOwnFrames = 2;

}  // namespace

AllocationHistory::AllocationHistory(const HistoryOptions& options)
    : options_(options), start_(std::chrono::steady_clock::now()) {
  ring_.reserve(static_cast<size_t>(options_.kept_events));
}

int64_t AllocationHistory::now_us() const {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_).count();
}

void AllocationHistory::keep(const Event& event) {
  const size_t kept = static_cast<size_t>(options_.kept_events);
  if (kept == 0) return;
  if (ring_.size() < kept) {
    ring_.push_back(event);
  } else {
    ring_[events_ % kept] = event;
  }
  ++events_;
}

void AllocationHistory::note_allocated(std::byte* address, const AllocationRequest& request) {
  const Frames frames = options_.capture_stacks ? capture_frames(kOwnFrames) : Frames();
  const std::lock_guard lock(mutex_);
  const StackNumber stack = options_.capture_stacks ? stacks_.add(frames) : kNoStack;
  const Entry entry{request.bytes, request.category, stack, now_us()};
  live_[address] = entry;
  keep({MemoryEvent::Kind::allocated, address, entry, ::gettid()});
}

void AllocationHistory::note_freed(std::byte* address) {
  const std::lock_guard lock(mutex_);
  const auto found = live_.find(address);
  if (found == live_.end()) return;
  Entry entry = found->second;
  live_.erase(found);
  entry.time_us = now_us();
  keep({MemoryEvent::Kind::freed, address, entry, ::gettid()});
}

void AllocationHistory::note_refused(const AllocationRequest& request) {
  const Frames frames = options_.capture_stacks ? capture_frames(kOwnFrames) : Frames();
  const std::lock_guard lock(mutex_);
  const StackNumber stack = options_.capture_stacks ? stacks_.add(frames) : kNoStack;
  keep({MemoryEvent::Kind::refused, nullptr, {request.bytes, request.category, stack, now_us()}, ::gettid()});
}

void AllocationHistory::note_trimmed(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  keep({MemoryEvent::Kind::trimmed, nullptr, {bytes, Category::user, kNoStack, now_us()}, ::gettid()});
}

MemorySnapshot AllocationHistory::snapshot() const {
  const auto block = [](std::byte* address, const Entry& entry) {
    return SnapshotBlock{reinterpret_cast<uint64_t>(address), entry.bytes, entry.category, entry.stack, entry.time_us};
  };
  MemorySnapshot snapshot;
  const std::lock_guard lock(mutex_);
  for (const auto& [address, entry] : live_) snapshot.blocks.push_back(block(address, entry));
  std::sort(snapshot.blocks.begin(), snapshot.blocks.end(), [](const SnapshotBlock& a, const SnapshotBlock& b) {
    return std::pair(a.time_us, a.address) < std::pair(b.time_us, b.address);
  });
  const size_t first = events_ - ring_.size();
  for (size_t i = first; i < events_; ++i) {
    const Event& event = ring_[i % static_cast<size_t>(options_.kept_events)];
    snapshot.events.push_back({event.kind, block(event.address, event.entry), event.thread});
  }
  snapshot.dropped_events = static_cast<int64_t>(first);
  for (size_t i = 0; i < stacks_.size(); ++i) {
    snapshot.stacks.push_back(symbolize(stacks_.frames(static_cast<StackNumber>(i))));
  }
  return snapshot;
}

std::vector<LeakedBlocks> AllocationHistory::live_by_stack() const {
  std::map<std::pair<Category, StackNumber>, LeakedBlocks> groups;
  std::vector<LeakedBlocks> leaks;
  const std::lock_guard lock(mutex_);
  for (const auto& [address, entry] : live_) {
    LeakedBlocks& group = groups[{entry.category, entry.stack}];
    group.category = entry.category;
    ++group.blocks;
    group.bytes += entry.bytes;
  }
  for (auto& [key, group] : groups) {
    if (key.second != kNoStack) group.stack = symbolize(stacks_.frames(key.second));
    leaks.push_back(std::move(group));
  }
  std::stable_sort(leaks.begin(), leaks.end(),
                   [](const LeakedBlocks& a, const LeakedBlocks& b) { return a.bytes > b.bytes; });
  return leaks;
}

}  // namespace tidemark::memory
