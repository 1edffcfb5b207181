// A trace: buffers with bytes and lifetimes, and nothing else. The planners' whole world (they know no graph, tensor or
// op).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/category.h"

namespace tidemark::memory {

// Half-open range of steps [begin, end), begin < end.
struct Interval {
  int64_t begin = 0;
  int64_t end = 0;
  bool operator==(const Interval&) const = default;
};

// One contiguous range of bytes in an arena. Final form: later parts add rows, not fields.
struct Buffer {
  int64_t id = 0;         // unique in a trace; free choice of the maker
  int64_t bytes = 0;      // > 0
  int64_t alignment = 1;  // power of two; the offset is a multiple of it
  std::vector<Interval>
      intervals;  // when its bytes must be kept: sorted, disjoint, not empty; gaps are free for others
  Category category = Category::activations;
  Scope scope = Scope::micro_batch;
  std::optional<int64_t> fixed_offset;  // bytes; planners keep it
  // Buffers of one group that are live at the same step may have the same offset (an output that overwrites its input);
  // if their offsets differ, their bytes must be disjoint as for any other pair.
  std::optional<int64_t> alias_group;

  bool operator==(const Buffer&) const = default;
};

struct Trace {
  std::string name;  // for messages: the file, or the model and body
  std::vector<Buffer> buffers;
};

// Throws Error(data) naming the buffer and the value: bytes <= 0, bytes or end beyond 2^62, begin >= end, unsorted or
// overlapping intervals, alignment no power of two, duplicate id, misaligned or negative fixed offset, bytes of all
// buffers that add up to more than 2^62, two fixed buffers that overlap in time and bytes.
void validate(const Trace& trace);

// One past the last step of any interval, 0 for an empty trace.
int64_t end_step(const Trace& trace);

// Live bytes at every step where the sum changes: profile[i].bytes holds on [profile[i].step, profile[i+1].step).
// Of an alias group only the largest member counts at a step. O(n log n).
struct ProfilePoint {
  int64_t step = 0;
  int64_t bytes = 0;
};
std::vector<ProfilePoint> live_profile(const Trace& trace);

// Maximum of the profile: no placement of any kind can have a lower peak (alignment can only raise it).
int64_t max_live_bytes(const Trace& trace);

}  // namespace tidemark::memory
