// The run and step segments: values that keep one place over all bodies of a program.
#pragma once

#include <vector>

#include "framework/compile/compile.h"

namespace tidemark::compile {

struct Segment {
  std::vector<Tensor> tensors;  // in order of first appearance over the bodies
  int64_t bytes = 0;            // end of the last one, relative to the arena's start

  const Tensor* find(std::string_view name) const;
};

// Places the union, by name, of all external values of `scope` from `base` on; only_shared: in bodies that share the
// step segment only. Throws Error(config) if two bodies give one name different types.
Segment place_segment(const std::vector<BodySpec>& bodies, Scope scope, bool only_shared, int64_t base,
                      int64_t alignment, int64_t guard_bytes);

int64_t round_up(int64_t bytes, int64_t alignment);

}  // namespace tidemark::compile
