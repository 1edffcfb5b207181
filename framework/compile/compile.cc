#include "framework/compile/compile.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/compile/liveness.h"
#include "framework/compile/lowering.h"
#include "framework/compile/segments.h"
#include "framework/compile/step_trace.h"
#include "framework/compile/update_schedule.h"
#include "graph/verifier.h"

namespace tidemark::compile {
namespace {

// Offsets only have to fit the budget there, and are planned for many schedules.
constexpr int64_t kOffsetWorkInRecomputation = 500'000;

// Compiles one body at a given base, between the segments and the offset planner.
class BodyCompiler {
 public:
  BodyCompiler(const ops::OpSet& ops, const CompileOptions& options, const Segment& run, const Segment& step)
      : ops_(ops), options_(options), run_(run), step_(step) {}

  Body compile(BodySpec spec) const {
    Body body;
    body.name = spec.name;
    body.graph = std::move(spec.graph);
    body.shares_step_segment = spec.shares_step_segment;
    order_updates(body.graph);
    verify(body.graph, ops_.table());
    const LoweredNodes lowered = lower(body.graph, ops_, options_.device, options_.threads);
    if (!recomputes()) {
      lay_out(body, lowered);
      return body;
    }
    Body plain = body;
    lay_out(plain, lowered);
    if (plain.peak_bytes <= options_.arena_budget_bytes) return plain;
    try {
      return with_recomputation(body, lowered, plain.base);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::out_of_memory) throw;
      throw Error(ErrorCode::out_of_memory, refusal(plain, error.what()));
    }
  }

 private:
  int64_t guard_bytes() const { return options_.debug_guards ? kGuardBytes : 0; }

  std::string refusal(const Body& plain, const std::string& why) const {
    const auto largest = std::ranges::max_element(plain.trace.buffers, {}, &memory::Buffer::bytes);
    std::string text = "arena for '" + options_.name + "/" + plain.name + "' needs " +
                       std::to_string(plain.peak_bytes) + " bytes (" + format_bytes(plain.peak_bytes) +
                       "), budget is " + std::to_string(options_.arena_budget_bytes) + " (" +
                       format_bytes(options_.arena_budget_bytes) + ")";
    if (largest != plain.trace.buffers.end()) {
      const auto i = static_cast<size_t>(largest - plain.trace.buffers.begin());
      text += "; largest tensor of the body is '" + plain.buffer_names[i] + "' (" + format_bytes(largest->bytes) + ")";
    }
    return text + "; recomputation does not get there: " + why +
           "; raise memory.budget (only whole pages of the device count) or lower memory.micro_batch";
  }

  bool recomputes() const { return options_.recompute != "none" && options_.arena_budget_bytes > 0; }

  // Everything from kernels to offsets.
  void lay_out(Body& body, const LoweredNodes& lowered) const { lay_out(body, lowered, options_.planner_options); }

  void lay_out(Body& body, const LoweredNodes& lowered, const memory::OffsetPlannerOptions& offset_options) const {
    Liveness liveness =
        find_liveness(body.graph, lowered, {options_.alignment, guard_bytes(), body.shares_step_segment});
    place(body, std::move(liveness), offset_options);
    emit_instructions(body, lowered);
    list_tensors(body);
    count_live(body);
  }

  // The planner lays its schedule out by itself; the arena of the rewritten graph can differ a little from that, so
  // what is missing is taken off the planner's budget until the real arena fits.
  Body with_recomputation(const Body& unplaced, const LoweredNodes& lowered, int64_t base) const {
    TM_CHECK(options_.costs != nullptr, "recomputation needs costs");
    const auto recomputer = memory::make_recompute_planner(options_.recompute);
    const auto offsets = memory::make_offset_planner(options_.planner);
    memory::RecomputeOptions options = options_.recompute_options;
    options.offset_planner = offsets.get();
    options.offset_options = options_.planner_options;
    options.offset_options.work_limit = std::min(options.offset_options.work_limit, kOffsetWorkInRecomputation);
    const memory::StepTrace trace =
        step_trace_of(unplaced.graph, ops_.table(), lowered, *options_.costs,
                      {options_.alignment, guard_bytes(), base, unplaced.shares_step_segment});
    int64_t budget_bytes = options_.arena_budget_bytes;
    for (;;) {
      const memory::RecomputePlan plan = recomputer->plan(trace, budget_bytes, options);
      Body body = unplaced;
      LoweredNodes nodes = lowered;
      const int64_t further_runs = apply_schedule(body.graph, nodes, plan.schedule.steps);
      lay_out(body, nodes, options.offset_options);
      body.recomputation = {plan.planner, further_runs, plan.overhead, plan.overhead_lower_bound};
      if (body.peak_bytes <= options_.arena_budget_bytes) return body;
      budget_bytes -= body.peak_bytes - options_.arena_budget_bytes;
    }
  }

  void order_updates(Graph& graph) const {
    if (options_.updates_at_end) {
      sink_updates(graph);
    } else {
      hoist_updates(graph);
    }
  }

  void place(Body& body, Liveness liveness, const memory::OffsetPlannerOptions& offset_options) const {
    const int64_t below = body.shares_step_segment ? step_.bytes : run_.bytes;
    body.base = round_up(below, options_.alignment);
    const auto planner = memory::make_offset_planner(options_.planner);
    body.plan = planner->minimize(liveness.trace, offset_options);
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

int64_t total(const CategoryBytes& bytes) {
  int64_t sum = 0;
  for (int64_t b : bytes) sum += b;
  return sum;
}

void find_peak(Program& program) {
  for (size_t b = 0; b < program.bodies.size(); ++b) {
    const Body& body = program.bodies[b];
    program.lower_bound_bytes = std::max(program.lower_bound_bytes, body.lower_bound_bytes);
    if (body.peak_bytes <= program.arena_bytes) continue;
    program.arena_bytes = body.peak_bytes;
    program.peak_body = b;
  }
  const auto& live = program.bodies[program.peak_body].live;
  const auto most = std::ranges::max_element(live, {}, total);
  program.peak_instruction = static_cast<size_t>(most - live.begin());
  program.peak_categories = *most;
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
  for (BodySpec& spec : bodies) program.bodies.push_back(compiler.compile(std::move(spec)));
  program.persistent = run.tensors;
  program.step = step.tensors;
  program.run_segment_bytes = run.bytes;
  program.step_segment_bytes = step.bytes - run.bytes;
  find_peak(program);
  return program;
}

}  // namespace tidemark::compile
