// What a recompute planner hands out: the steps in the order of running, some more than once, and the lifetime of every
// copy of a value.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/recompute/step_trace.h"
#include "memory/trace/trace.h"

namespace tidemark::memory {

// One copy of a value: the bytes that one run of its step makes. Times are positions in Schedule::steps, half-open; a
// copy is live from the run that makes it (0 if it was there before) to past the last run that reads it.
struct ValueInstance {
  int32_t value = 0;
  int64_t begin = 0;
  int64_t end = 0;
  // Where this copy takes over the bytes of another that ends with the run that makes it: index in
  // Schedule::instances, else -1.
  int32_t takes_over = -1;
  bool operator==(const ValueInstance&) const = default;
};

struct Schedule {
  std::vector<int32_t> steps;            // indices of the trace's steps; first runs in the trace's order
  std::vector<ValueInstance> instances;  // of values that are not persistent; ordered by begin
};

// The trace's own order, every step once.
std::vector<int32_t> plain_order(const StepTrace& trace);

// The lifetimes that an order of runs implies: a run reads the latest copy of each input.
Schedule make_schedule(const StepTrace& trace, std::vector<int32_t> steps);

// Highest live bytes, fixed_bytes included, and the position in the schedule.
struct SchedulePeak {
  int64_t bytes = 0;
  int64_t position = 0;
};
SchedulePeak live_peak(const StepTrace& trace, const Schedule& schedule);

int64_t schedule_cost(const StepTrace& trace, const Schedule& schedule);

// The schedule as a trace of buffers: first schedule.instances (id = index), then one buffer for every run with a
// workspace (id = instances + position). Instances of no bytes are left out. What takes over bytes shares an alias
// group with what it takes them from.
Trace arena_trace(const StepTrace& trace, const Schedule& schedule);

}  // namespace tidemark::memory
