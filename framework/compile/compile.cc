#include "framework/compile/compile.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "framework/compile/liveness.h"
#include "framework/compile/lowering.h"
#include "framework/compile/refusal_text.h"
#include "framework/compile/rewrite_check.h"
#include "framework/compile/segments.h"
#include "framework/compile/split_nodes.h"
#include "framework/compile/step_trace.h"
#include "framework/compile/update_schedule.h"
#include "graph/verifier.h"
#include "memory/recompute/overhead_bound.h"

namespace tidemark::compile {
namespace {

// Offsets only have to fit the budget there, and are planned for many schedules.
constexpr int64_t kOffsetWorkInRecomputation = 500'000;
// Times the usual effort: the plan of the budget that was given runs at every step, those of other budgets never.
constexpr int64_t kWorkOfKeptPlan = 4;

struct Compiled {
  Body body;
  LoweredNodes lowered;
};

// Compiles one body at a given base, between the segments and the offset planner.
class BodyCompiler {
 public:
  BodyCompiler(const ops::OpSet& ops, const CompileOptions& options, const Segment& run, const Segment& step)
      : ops_(ops), options_(options), run_(run), step_(step) {}

  Compiled compile(BodySpec spec) const {
    Body body;
    body.name = spec.name;
    body.graph = std::move(spec.graph);
    body.shares_step_segment = spec.shares_step_segment;
    order_updates(body.graph);
    verify(body.graph, ops_.table());
    Graph verified = recomputes() ? body.graph : Graph();
    Compiled plain;
    plain.lowered = lower(body.graph, ops_, options_.device, options_.threads);
    lay_out(body, plain.lowered, options_.planner_options);
    for (const Instruction& i : body.instructions) body.kernels.emplace_back(i.node, i.kernel_name);
    plain.body = std::move(body);
    if (!recomputes()) return plain;
    if (plain.body.peak_bytes > options_.arena_budget_bytes) {
      auto kernels = plain.body.kernels;
      Compiled within_budget = recompute(std::move(verified), std::move(plain));
      within_budget.body.kernels = std::move(kernels);
      return within_budget;
    }
    if (options_.prepares_all_costs && plain.body.peak_bytes > least_arena_bytes())
      plannable(std::move(verified), plain.body);  // asks for them
    return plain;
  }

 private:
  int64_t guard_bytes() const { return options_.debug_guards ? kGuardBytes : 0; }

  bool recomputes() const { return options_.recompute != "none" && options_.arena_budget_bytes > 0; }

  // No budget is smaller.
  int64_t least_arena_bytes() const { return round_up(run_.bytes, options_.budget_granularity_bytes); }

  // Everything from kernels to offsets.
  void lay_out(Body& body, const LoweredNodes& lowered, const memory::OffsetPlannerOptions& offset_options,
               std::optional<int64_t> arena_budget_bytes = std::nullopt) const {
    Liveness liveness =
        find_liveness(body.graph, lowered, {options_.alignment, guard_bytes(), body.shares_step_segment});
    place(body, std::move(liveness), offset_options, arena_budget_bytes);
    emit_instructions(body, lowered);
    list_tensors(body);
    count_live(body);
  }

  // A body before recomputation, as the planner sees it.
  struct Planned {
    Body unplaced;
    LoweredNodes lowered;
    memory::StepTrace trace;
  };

  Planned plannable(Graph verified, const Body& plain) const {
    TM_CHECK(options_.costs != nullptr, "recomputation needs costs");
    Planned planned;
    planned.unplaced.name = plain.name;
    planned.unplaced.shares_step_segment = plain.shares_step_segment;
    Graph& graph = planned.unplaced.graph = std::move(verified);
    split_nodes(graph, ops_);
    verify(graph, ops_.table());
    planned.lowered = lower(graph, ops_, options_.device, options_.threads);
    options_.costs->prepare(graph, planned.lowered);
    planned.trace = step_trace_of(graph, ops_.table(), planned.lowered, *options_.costs,
                                  {options_.alignment, guard_bytes(), plain.base, plain.shares_step_segment});
    return planned;
  }

  Compiled recompute(Graph verified, Compiled compiled) const {
    const Body& plain = compiled.body;
    const Planned planned = plannable(std::move(verified), plain);
    // Bytes that no device has: as it stands it is refused as too large, which is the thing to say.
    if (!memory::has_plannable_sums(planned.trace)) return compiled;
    const int64_t work_limit = kWorkOfKeptPlan * options_.recompute_options.work_limit;
    if (auto found = within(planned, options_.arena_budget_bytes, work_limit))
      return bounded(planned, std::move(*found));
    const int64_t least_bytes = least_budget(planned, plain.peak_bytes);
    auto least = within(planned, least_bytes, options_.recompute_options.work_limit);
    if (least && least_bytes <= options_.arena_budget_bytes) return bounded(planned, std::move(*least));
    throw BudgetRefusal(refusal(plain, least ? least->compiled.body : plain, least_bytes, planned), least_bytes);
  }

  struct Found {
    Compiled compiled;
    int64_t extra_cost = 0;
  };

  // With how little the budget could cost.
  Compiled bounded(const Planned& planned, Found found) const {
    const int64_t work_limit = options_.recompute_options.bound_work_limit;
    const int64_t cost = memory::total_cost(planned.trace);
    if (work_limit <= 0 || cost <= 0) return std::move(found.compiled);
    const int64_t bound = memory::extra_cost_lower_bound(planned.trace, options_.arena_budget_bytes,
                                                         {.work_limit = work_limit, .known_cost = found.extra_cost});
    found.compiled.body.recomputation.overhead_lower_bound = static_cast<double>(bound) / static_cast<double>(cost);
    return std::move(found.compiled);
  }

  // Between what no schedule gets below and what the plain order needs; in whole pages. The ends hang on the body
  // alone, so every budget that is refused is told the same figure.
  int64_t least_budget(const Planned& planned, int64_t plain_bytes) const {
    const int64_t page = options_.budget_granularity_bytes;
    int64_t fails = (memory::least_conceivable_peak(planned.trace).bytes - 1) / page * page;
    int64_t works = round_up(plain_bytes, page);
    while (works - fails > page) {
      const int64_t middle = fails + (works - fails) / page / 2 * page;
      (within(planned, middle, options_.recompute_options.work_limit) ? works : fails) = middle;
    }
    return works;
  }

  // The planner lays its schedule out by itself; the arena of the rewritten graph can differ a little from that, so
  // what is missing, and more every time, is taken off the planner's budget until the real arena fits. Nothing if the
  // planner finds nothing.
  std::optional<Found> within(const Planned& planned, int64_t arena_budget_bytes, int64_t work_limit) const {
    memory::RecomputeOptions options = options_.recompute_options;
    options.work_limit = work_limit;
    options.bound_work_limit = 0;  // of the budgets tried here nobody asks that
    const auto recomputer = memory::make_recompute_planner(options_.recompute);
    const auto offsets = memory::make_offset_planner(options_.planner);
    options.offset_planner = offsets.get();
    options.offset_options = options_.planner_options;
    options.offset_options.work_limit = std::min(options.offset_options.work_limit, kOffsetWorkInRecomputation);
    int64_t budget_bytes = arena_budget_bytes, cut_bytes = 0;
    while (budget_bytes >= planned.trace.fixed_bytes) {
      memory::RecomputePlan plan;
      try {
        plan = recomputer->plan(planned.trace, budget_bytes, options);
      } catch (const Error& error) {
        if (error.code() != ErrorCode::out_of_memory) throw;
        return std::nullopt;
      }
      Found found{rewritten(planned, plan, options.offset_options, arena_budget_bytes), plan.extra_cost};
      const int64_t peak_bytes = found.compiled.body.peak_bytes;
      if (peak_bytes <= arena_budget_bytes) return found;
      cut_bytes = std::max(2 * cut_bytes, peak_bytes - arena_budget_bytes);
      budget_bytes -= cut_bytes;
    }
    return std::nullopt;
  }

  Compiled rewritten(const Planned& planned, const memory::RecomputePlan& plan,
                     const memory::OffsetPlannerOptions& offset_options, int64_t arena_budget_bytes) const {
    Compiled compiled{planned.unplaced, planned.lowered};
    auto& [body, lowered] = compiled;
    const int64_t further_runs = apply_schedule(body.graph, lowered, plan.schedule.steps);
    lay_out(body, lowered, offset_options, arena_budget_bytes);
    const std::string fault = find_rewrite_fault(planned.trace, plan, body, lowered, ops_.table());
    TM_CHECK(fault.empty(), "body '" + body.name + "' as rewritten: " + fault);
    body.recomputation = {plan.planner, further_runs, plan.overhead};
    return compiled;
  }

  std::string refusal(const Body& plain, const Body& least, int64_t least_bytes, const Planned& planned) const {
    const size_t at = peak_instruction_of(least);
    return refusal_text({options_.name, options_.recompute, options_.arena_budget_bytes, least_bytes,
                         memory::least_conceivable_peak(planned.trace).bytes},
                        plain, at < least.instructions.size() ? &least.instructions[at] : nullptr);
  }

  void order_updates(Graph& graph) const {
    if (options_.updates_at_end) {
      sink_updates(graph);
    } else {
      hoist_updates(graph);
    }
  }

  // Within a budget where one is given and it can be: to fit is easier than to find the least.
  memory::OffsetPlan offsets_for(const memory::Trace& trace, const memory::OffsetPlannerOptions& offset_options,
                                 std::optional<int64_t> capacity_bytes) const {
    const auto planner = memory::make_offset_planner(options_.planner);
    const auto is_larger = [&](const memory::Buffer& buffer) { return buffer.bytes > *capacity_bytes; };
    if (capacity_bytes && std::ranges::none_of(trace.buffers, is_larger)) {
      memory::FitResult result = planner->fit(trace, *capacity_bytes, offset_options);
      if (result.fit == memory::Fit::fits) return std::move(result.plan);
    }
    return planner->minimize(trace, offset_options);
  }

  void place(Body& body, Liveness liveness, const memory::OffsetPlannerOptions& offset_options,
             std::optional<int64_t> arena_budget_bytes) const {
    const int64_t below = body.shares_step_segment ? step_.bytes : run_.bytes;
    body.base = round_up(below, options_.alignment);
    const auto capacity_bytes = arena_budget_bytes ? std::optional(*arena_budget_bytes - body.base) : std::nullopt;
    body.plan = offsets_for(liveness.trace, offset_options, capacity_bytes);
    body.peak_bytes = body.base + body.plan.peak_bytes;
    body.lower_bound_bytes = body.base + body.plan.lower_bound_bytes;
    body.offset_of_value.assign(body.graph.values().size(), -1);
    for (const Value& value : body.graph.values())
      body.offset_of_value[value.id.index()] = offset_of(body, liveness, value);
    body.trace = std::move(liveness.trace);
    body.buffer_names = std::move(liveness.names);
    body.buffer_of_value = std::move(liveness.buffer_of_value);
    body.workspace_of_instruction = liveness.workspace_of_node;
    body.guard_bytes = guard_bytes();
  }

  int64_t offset_of(const Body& body, const Liveness& liveness, const Value& value) const {
    const Value& root = body.graph.value(body.graph.storage(value.id));
    if (root.scope == Scope::run) return segment_offset(run_, root);
    if (root.scope == Scope::step && body.shares_step_segment) return segment_offset(step_, root);
    const int buffer = liveness.buffer_of_value[value.id.index()];
    return buffer < 0 ? -1 : body.base + body.plan.offsets[static_cast<size_t>(buffer)] + guard_bytes();
  }

  static int64_t segment_offset(const Segment& segment, const Value& value) {
    const Tensor* tensor = segment.find(value.name);
    TM_CHECK(tensor != nullptr, "value '" + value.name + "' is produced inside a body but has run or step scope");
    return tensor->offset;
  }

  void emit_instructions(Body& body, const LoweredNodes& lowered) const {
    const auto offset = [&](ValueId v) { return v.valid() ? body.offset_of_value[v.index()] : -1; };
    for (size_t i = 0; i < body.graph.order().size(); ++i) {
      const Node& node = body.graph.node(body.graph.order()[i]);
      const LoweredNode& how = lowered.at(node.id);
      Instruction instruction;
      instruction.node = node.name;
      instruction.op = node.op;
      instruction.kernel_name = how.kernel_name;
      instruction.kernel = how.kernel;
      instruction.packed_which = how.packed_which;
      instruction.input_values = node.inputs;
      instruction.output_values = node.outputs;
      for (ValueId v : node.inputs) instruction.inputs.push_back(offset(v));
      for (ValueId v : node.outputs) instruction.outputs.push_back(offset(v));
      if (const int w = body.workspace_of_instruction[i]; w >= 0) {
        instruction.workspace = body.base + body.plan.offsets[static_cast<size_t>(w)] + guard_bytes();
        instruction.workspace_bytes = how.kernel->workspace_bytes();
      }
      body.instructions.push_back(std::move(instruction));
    }
  }

  void list_tensors(Body& body) const {
    const auto tensor = [&](const Value& v) {
      return Tensor{v.name, v.type, v.category, v.scope, body.offset_of_value[v.id.index()]};
    };
    for (const Value& value : body.graph.values())
      if (value.external() && value.scope != Scope::run && body.offset_of_value[value.id.index()] >= 0)
        body.externals.push_back(tensor(value));
    for (ValueId id : body.graph.results()) body.results.push_back(tensor(body.graph.value(id)));
  }

  void count_live(Body& body) const {
    CategoryBytes fixed{};
    const auto add = [&](const Segment& segment) {
      for (const Tensor& t : segment.tensors) fixed[static_cast<size_t>(t.category)] += t.bytes();
    };
    add(run_);
    if (body.shares_step_segment) add(step_);
    body.live.assign(std::max<size_t>(body.instructions.size(), 1), fixed);
    for (const memory::Buffer& buffer : body.trace.buffers)
      for (const memory::Interval& interval : buffer.intervals)
        for (int64_t step = interval.begin; step < interval.end; ++step)
          body.live[static_cast<size_t>(step)][static_cast<size_t>(buffer.category)] +=
              buffer.bytes - 2 * guard_bytes();
    // An output in the bytes of its input is one buffer, not two: at the step of the handover count it once, as the
    // output.
    for (size_t a = 0; a < body.trace.buffers.size(); ++a) subtract_shared(body, a);
  }

  void subtract_shared(Body& body, size_t a) const {
    const memory::Buffer& from = body.trace.buffers[a];
    if (!from.alias_group) return;
    const int64_t handover = from.intervals.back().end - 1;
    for (size_t b = 0; b < body.trace.buffers.size(); ++b) {
      const memory::Buffer& to = body.trace.buffers[b];
      if (a == b || to.alias_group != from.alias_group || body.plan.offsets[a] != body.plan.offsets[b]) continue;
      if (to.intervals.front().begin == handover &&
          to.intervals.back().end > handover + (from.intervals.front().begin == handover))
        body.live[static_cast<size_t>(handover)][static_cast<size_t>(from.category)] -= from.bytes - 2 * guard_bytes();
    }
  }

  const ops::OpSet& ops_;
  const CompileOptions& options_;
  const Segment& run_;
  const Segment& step_;
};

void find_peak(Program& program) {
  for (size_t b = 0; b < program.bodies.size(); ++b) {
    const Body& body = program.bodies[b];
    program.lower_bound_bytes = std::max(program.lower_bound_bytes, body.lower_bound_bytes);
    if (body.peak_bytes <= program.arena_bytes) continue;
    program.arena_bytes = body.peak_bytes;
    program.peak_body = b;
  }
  program.set_peak_body(program.peak_body);
}

// A refusal of one body names the least budget of all of them.
std::vector<Compiled> compile_bodies(const BodyCompiler& compiler, std::vector<BodySpec> specs) {
  std::vector<Compiled> bodies;
  std::optional<BudgetRefusal> refusal;
  for (BodySpec& spec : specs) {
    try {
      bodies.push_back(compiler.compile(std::move(spec)));
    } catch (const BudgetRefusal& refused) {
      if (!refusal || refused.least_budget_bytes() > refusal->least_budget_bytes()) refusal = refused;
    }
  }
  if (refusal) throw *refusal;
  return bodies;
}

// The planner asked for them: nothing is measured for it.
void note_costs(Compiled& compiled, Costs& costs) {
  auto& [body, lowered] = compiled;
  for (size_t i = 0; i < body.instructions.size(); ++i) {
    const NodeId id = body.graph.order()[i];
    body.instructions[i].cost_nanoseconds = costs.known(body.graph, id, lowered.at(id));
  }
}

void sum_costs_of(std::vector<Compiled>& bodies, const std::vector<bool>& wanted, const CompileOptions& options) {
  if (options.cost_sum == CostSum::none) return;
  TM_CHECK(options.costs != nullptr, "no costs to sum");
  const bool measure = options.cost_sum == CostSum::measured || std::ranges::any_of(bodies, [](const Compiled& c) {
                         return !c.body.recomputation.planner.empty();
                       });
  for (size_t i = 0; i < bodies.size(); ++i) {
    auto& [body, lowered] = bodies[i];
    if (wanted[i]) body.cost_nanoseconds = sum_costs(body.graph, lowered, *options.costs, measure);
    if (body.recomputation.further_runs > 0) note_costs(bodies[i], *options.costs);
  }
}

}  // namespace

Program compile(std::vector<BodySpec> bodies, const ops::OpSet& ops, const CompileOptions& options) {
  TM_CHECK(!bodies.empty(), "a program has at least one body");
  const int64_t guard = options.debug_guards ? kGuardBytes : 0;
  const Segment run = place_segment(bodies, Scope::run, false, 0, options.alignment, guard);
  const Segment step = place_segment(bodies, Scope::step, true, run.bytes, options.alignment, guard);
  Program program;
  program.name = options.name;
  const BodyCompiler compiler(ops, options, run, step);
  std::vector<bool> in_cost_sum;
  for (const BodySpec& spec : bodies) in_cost_sum.push_back(spec.in_cost_sum);
  std::vector<Compiled> compiled = compile_bodies(compiler, std::move(bodies));
  sum_costs_of(compiled, in_cost_sum, options);
  for (Compiled& c : compiled) program.bodies.push_back(std::move(c.body));
  program.persistent = run.tensors;
  program.step = step.tensors;
  program.run_segment_bytes = run.bytes;
  program.step_segment_bytes = step.bytes - run.bytes;
  find_peak(program);
  return program;
}

}  // namespace tidemark::compile
