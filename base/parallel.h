// Loops over several threads with a partition that hangs on the thread count alone. Note [Fixed partition]
//
// The range is cut into `threads` parts before any thread runs, and a part's bounds depend only on (n, threads, grain).
// The OpenMP runtime may give fewer threads than asked; they then take several parts each, and what is computed stays
// the same. That is what makes results repeat bit for bit with a given thread count: partial sums are kept by part,
// never by thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace tidemark {

namespace internal {
// Calls run(context, part) for every part in [0, parts), on up to `parts` threads at once.
void run_parts(int parts, void (*run)(void* context, int part), void* context);
}  // namespace internal

// The half-open bounds of one part. All bounds but n are multiples of grain; parts differ by at most one grain.
struct PartBounds {
  int64_t begin = 0;
  int64_t end = 0;
};

inline PartBounds part_bounds(int64_t n, int parts, int part, int64_t grain = 1) {
  const int64_t grains = (n + grain - 1) / grain;
  const int64_t each = grains / parts, rest = grains % parts;
  const int64_t first = each * part + std::min<int64_t>(part, rest);
  const int64_t last = first + each + (part < rest ? 1 : 0);
  return {std::min(first * grain, n), std::min(last * grain, n)};
}

// Calls body(begin, end, part) for the non-empty parts of [0, n), part in [0, threads). Allocates nothing. The body
// must not throw, and must not call parallel_for. threads >= 1, n >= 0, grain >= 1.
template <class Body>
void parallel_for(int threads, int64_t n, Body&& body, int64_t grain = 1) {
  if (n <= 0) return;
  if (threads <= 1) {
    body(int64_t{0}, n, 0);
    return;
  }
  struct Context {
    std::remove_reference_t<Body>* body;
    int64_t n;
    int64_t grain;
    int parts;
  } context = {std::addressof(body), n, grain, threads};
  internal::run_parts(
      threads,
      [](void* opaque, int part) {
        const Context& c = *static_cast<const Context*>(opaque);
        const PartBounds bounds = part_bounds(c.n, c.parts, part, c.grain);
        if (bounds.begin < bounds.end) (*c.body)(bounds.begin, bounds.end, part);
      },
      &context);
}

}  // namespace tidemark
