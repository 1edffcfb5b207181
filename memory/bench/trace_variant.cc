#include "memory/bench/trace_variant.h"

#include <algorithm>
#include <random>

namespace tidemark::memory {
namespace {

constexpr int64_t kScale = 3;

void reverse_time(Trace& trace) {
  const int64_t end = end_step(trace);
  for (Buffer& buffer : trace.buffers) {
    for (Interval& interval : buffer.intervals) interval = {end - interval.end, end - interval.begin};
    std::reverse(buffer.intervals.begin(), buffer.intervals.end());
  }
}

// Tripled offsets need not be aligned, so only traces without alignment are scaled.
bool may_scale(const Trace& trace) {
  const bool unaligned = std::all_of(trace.buffers.begin(), trace.buffers.end(), [](const Buffer& buffer) {
    return buffer.alignment == 1 && buffer.bytes < (int64_t{1} << 40);
  });
  return unaligned && max_live_bytes(trace) < (int64_t{1} << 59);
}

void scale_bytes(Trace& trace) {
  for (Buffer& buffer : trace.buffers) {
    buffer.bytes *= kScale;
    if (buffer.fixed_offset) *buffer.fixed_offset *= kScale;
  }
}

}  // namespace

TraceVariant make_variant(const Trace& trace, uint64_t number) {
  TraceVariant variant{trace, 1, number + 1};
  if (number == 0) return variant;
  std::mt19937_64 random(number);
  auto& buffers = variant.trace.buffers;
  for (size_t i = buffers.size(); i > 1; --i) std::swap(buffers[i - 1], buffers[random() % i]);
  for (size_t i = 0; i < buffers.size(); ++i) buffers[i].id = static_cast<int64_t>(i);
  if (number & 1) reverse_time(variant.trace);
  if ((number & 2) != 0 && may_scale(variant.trace)) {
    scale_bytes(variant.trace);
    variant.scale = kScale;
  }
  return variant;
}

}  // namespace tidemark::memory
