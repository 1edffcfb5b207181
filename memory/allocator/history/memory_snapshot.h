// What is in memory at one moment and what led there, as data and as text for other programs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/category.h"
#include "memory/allocator/allocator.h"

namespace tidemark::memory {

struct SnapshotBlock {
  uint64_t address = 0;
  int64_t bytes = 0;  // as asked for
  Category category = Category::user;
  int32_t stack = -1;    // index into stacks; -1: not captured
  int64_t time_us = -1;  // since the history's start; -1: not known
};

struct MemoryEvent {
  enum class Kind { allocated, freed, refused, trimmed };
  Kind kind = Kind::allocated;
  SnapshotBlock block;  // of trimmed: bytes alone; of freed: where it was taken
  int32_t thread = 0;   // as the system numbers it
};

struct MemorySnapshot {
  AllocatorStats stats;
  std::vector<SnapshotBlock> blocks;  // live
  std::vector<MemoryEvent> events;    // the latest, in order
  int64_t dropped_events = 0;         // earlier ones, of which nothing is known
  std::vector<std::vector<std::string>> stacks;
};

// Live blocks of one category that were taken in one place.
struct LeakedBlocks {
  Category category = Category::user;
  int64_t blocks = 0;
  int64_t bytes = 0;
  std::vector<std::string> stack;  // empty: not captured
};

// {"stats": {...}, "blocks": [...], "events": [...], "stacks": [[...]]}
std::string to_json(const MemorySnapshot& snapshot);

// The trace event format that chrome://tracing and ui.perfetto.dev open: a counter of allocated bytes by category, a
// slice for each block from its allocation to its end, instants for refusals and trims.
std::string to_chrome_trace(const MemorySnapshot& snapshot);

}  // namespace tidemark::memory
