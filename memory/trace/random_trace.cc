#include "memory/trace/random_trace.h"

#include <algorithm>
#include <random>

#include "base/error.h"

namespace tidemark::memory {
namespace {

class Generator {
 public:
  explicit Generator(const RandomTraceOptions& options) : options_(options), random_(options.seed) {}

  Trace make() {
    Trace trace;
    trace.name = "random trace of seed " + std::to_string(options_.seed);
    for (int i = 0; i < options_.buffers; ++i) trace.buffers.push_back(make_buffer(i));
    fix_some(trace);
    return trace;
  }

 private:
  // Not std::uniform_int_distribution: its results differ between standard libraries.
  int64_t between(int64_t low, int64_t high) { return low + static_cast<int64_t>(random_() % (high - low + 1)); }
  bool chance(int percent) { return between(1, 100) <= percent; }

  Buffer make_buffer(int id) {
    Buffer buffer;
    buffer.id = id;
    buffer.bytes = between(1, options_.max_bytes);
    if (chance(options_.alignment_percent)) buffer.alignment = int64_t{1} << between(1, 6);
    if (chance(options_.alias_percent)) buffer.alias_group = between(0, std::max(0, options_.buffers / 2 - 1));
    buffer.category = static_cast<Category>(between(0, kCategoryCount - 1));
    buffer.intervals.push_back(make_interval());
    if (chance(options_.gaps_percent)) cut_gap(buffer);
    return buffer;
  }

  Interval make_interval() {
    const int64_t begin = between(0, options_.steps - 1);
    // Mostly short lifetimes, some that span nearly everything.
    const int64_t longest = chance(70) ? std::max(1, options_.steps / 5) : options_.steps;
    return {begin, std::min<int64_t>(options_.steps, begin + between(1, longest))};
  }

  void cut_gap(Buffer& buffer) {
    const Interval whole = buffer.intervals[0];
    if (whole.end - whole.begin < 3) return;
    const int64_t gap_begin = between(whole.begin + 1, whole.end - 2);
    const int64_t gap_end = between(gap_begin + 1, whole.end - 1);
    buffer.intervals = {{whole.begin, gap_begin}, {gap_end, whole.end}};
  }

  void fix_some(Trace& trace) {
    for (Buffer& buffer : trace.buffers) {
      if (!chance(options_.fixed_percent)) continue;
      buffer.fixed_offset = between(0, options_.max_bytes * 2 / buffer.alignment) * buffer.alignment;
      try {
        validate(trace);
      } catch (const Error&) {
        buffer.fixed_offset.reset();
      }
    }
  }

  const RandomTraceOptions& options_;
  std::mt19937_64 random_;
};

}  // namespace

Trace random_trace(const RandomTraceOptions& options) { return Generator(options).make(); }

}  // namespace tidemark::memory
