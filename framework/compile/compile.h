// Graphs in, program out: lower to kernels, find lifetimes, plan offsets.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "framework/compile/costs.h"
#include "framework/compile/program.h"
#include "memory/recompute/recompute_planner.h"
#include "ops/op_definition.h"

namespace tidemark::compile {

struct BodySpec {
  std::string name;
  Graph graph;
  // True for bodies that run inside a step whose gradients stay between them (accumulation); their Scope::step
  // externals then keep their bytes from body to body. Otherwise such values are the body's own.
  bool shares_step_segment = false;
  bool in_cost_sum = true;  // CompileOptions::cost_sum is for this body, too
};

// Of the costs of a body's instructions.
enum class CostSum {
  none,
  known,     // where recomputation has asked for costs anyway, or none has to be measured for it
  measured,  // `costs` is asked for every instruction
};

struct CompileOptions {
  std::string name = "program";  // of the model, for messages
  ops::KernelDevice device = ops::KernelDevice::cpu;
  int threads = 1;
  int64_t alignment = 64;             // bytes, power of two; CUDA wants 256
  std::string planner = "portfolio";  // see memory::all_offset_planners
  memory::OffsetPlannerOptions planner_options;
  // Recomputation, for bodies whose arena would be above arena_budget_bytes: a planner of
  // memory::all_recompute_planners, or "none". 0: no budget. `costs` is asked only then; it must outlive the call.
  std::string recompute = "none";
  int64_t arena_budget_bytes = 0;
  int64_t budget_granularity_bytes = 1;  // pages of the device: budgets that a refusal names are multiples of it
  memory::RecomputeOptions recompute_options;
  Costs* costs = nullptr;
  bool prepares_all_costs = false;   // also those that recomputation would weigh under a smaller budget
  CostSum cost_sum = CostSum::none;  // fills Body::cost_nanoseconds
  bool debug_guards = false;         // memory.debug: kGuardBytes before and after every buffer
  // Updates wait for the end of the body instead of running as soon as they can; for the tests that show what that
  // saves.
  bool updates_at_end = false;
};

inline constexpr int64_t kGuardBytes = 64;

// No schedule was found within arena_budget_bytes. The least budget works: compile() succeeds with it, and does not
// with budget_granularity_bytes less.
class BudgetRefusal : public Error {
 public:
  BudgetRefusal(const std::string& message, int64_t least_budget_bytes)
      : Error(ErrorCode::out_of_memory, message), least_budget_bytes_(least_budget_bytes) {}
  int64_t least_budget_bytes() const { return least_budget_bytes_; }

 private:
  int64_t least_budget_bytes_;
};

// Throws Error(config) for a graph that does not verify or has no kernel, and what the planners throw; BudgetRefusal
// with recomputation and a budget that cannot be met. Without recomputation the budget is not looked at. Every
// rewritten body is held against memory's independent plan checks and the verifier (rewrite_check.h).
Program compile(std::vector<BodySpec> bodies, const ops::OpSet& ops, const CompileOptions& options);

}  // namespace tidemark::compile
