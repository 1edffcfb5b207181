// A step trace: what a training step runs, in order, and the bytes that it makes. The recompute planners' whole world
// (they know no graph, tensor or op).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tidemark::memory {

// What happens to the bytes of a value's predecessor when the value is made.
enum class Reuse {
  // If the predecessor is not needed afterwards, the value takes its bytes, else it gets its own. Of several values of
  // one step, the first takes them.
  takes_over,
  overwrites  // the predecessor is gone, always: no step may read it afterwards (a parameter's update, an in-place sum)
};

// One version of a tensor. Made by at most one step; without one it is there before the first step.
struct StepValue {
  int64_t bytes = 0;                   // >= 0
  int64_t alignment = 1;               // power of two; of its offset in an arena
  bool persistent = false;             // lies outside: its bytes are in fixed_bytes, it is always there
  bool live_at_end = false;            // a result: kept until after the last step
  std::optional<int32_t> predecessor;  // index of an input of the step that makes this value
  Reuse reuse = Reuse::takes_over;     // means something only with a predecessor
  std::string name;                    // for messages
};

struct Step {
  int64_t cost = 0;  // >= 0, any unit (ns, FLOPs): planners look at ratios only
  // False for what a second run would change or could not repeat: updates in place, draws without a counter. A step
  // that overwrites a value that is not persistent is never repeated, whatever this says.
  bool may_run_twice = true;
  int64_t workspace_bytes = 0;   // live during the step only
  std::vector<int32_t> inputs;   // indices of values
  std::vector<int32_t> outputs;  // indices of values
  std::string name;              // for messages
};

struct StepTrace {
  std::string name;  // for messages: the model and body, or the file
  std::vector<Step> steps;
  std::vector<StepValue> values;
  int64_t fixed_bytes = 0;  // bytes outside the plan that count against the budget at every step
};

// Throws Error(data) naming the step or value: an index out of range, a negative cost or size, sums beyond 2^52, a
// value read before it is made or after it was overwritten, made or overwritten twice, a predecessor that is no input
// of the value's step, an alignment that is no power of two.
void validate(const StepTrace& trace);

// False where validate() refuses the amounts: bytes, workspaces or costs add up to more than 2^52.
bool has_plannable_sums(const StepTrace& trace);

int64_t total_cost(const StepTrace& trace);

// Live bytes of the trace as it stands, fixed_bytes included: the highest over all steps, and where.
struct LivePeak {
  int64_t bytes = 0;
  int32_t step = 0;
};
LivePeak plain_peak(const StepTrace& trace);

// The least peak that any schedule can have, as far as simple reasoning goes: at every step its inputs, outputs and
// workspace, and what must wait across it because it cannot be made again.
LivePeak least_conceivable_peak(const StepTrace& trace);

}  // namespace tidemark::memory
