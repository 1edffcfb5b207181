#include "framework/compile/whole_arena.h"

#include <algorithm>

namespace tidemark::compile {
namespace {

void add_segment(WholeArena& whole, const std::vector<Tensor>& tensors, int64_t steps, int64_t guard_bytes) {
  for (const Tensor& t : tensors) {
    memory::Buffer buffer;
    buffer.id = static_cast<int64_t>(whole.trace.buffers.size());
    buffer.bytes = t.bytes() + 2 * guard_bytes;
    buffer.intervals = {{0, steps}};
    buffer.category = t.category;
    buffer.scope = t.scope;
    buffer.fixed_offset = t.offset - guard_bytes;
    whole.plan.offsets.push_back(*buffer.fixed_offset);
    whole.trace.buffers.push_back(std::move(buffer));
  }
}

}  // namespace

WholeArena whole_arena(const Program& program, const Body& body) {
  WholeArena whole;
  whole.trace.name = program.name + "/" + body.name;
  whole.plan = {.offsets = {},
                .peak_bytes = body.peak_bytes,
                .lower_bound_bytes = body.lower_bound_bytes,
                .proven_optimal = body.plan.proven_optimal,
                .work = body.plan.work,
                .planner = body.plan.planner};
  const int64_t steps = std::max<int64_t>(static_cast<int64_t>(body.instructions.size()), 1);
  add_segment(whole, program.persistent, steps, body.guard_bytes);
  if (body.shares_step_segment) add_segment(whole, program.step, steps, body.guard_bytes);
  for (size_t i = 0; i < body.trace.buffers.size(); ++i) {
    memory::Buffer buffer = body.trace.buffers[i];
    buffer.id = static_cast<int64_t>(whole.trace.buffers.size());
    whole.plan.offsets.push_back(body.base + body.plan.offsets[i]);
    whole.trace.buffers.push_back(std::move(buffer));
  }
  return whole;
}

}  // namespace tidemark::compile
