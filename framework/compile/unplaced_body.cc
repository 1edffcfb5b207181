#include "framework/compile/unplaced_body.h"

#include <algorithm>

#include "base/error.h"
#include "framework/compile/liveness.h"
#include "framework/compile/lowering.h"
#include "framework/compile/segments.h"
#include "framework/compile/update_schedule.h"
#include "graph/verifier.h"

namespace tidemark::compile {
namespace {

// Calls see(buffer, step) for every step of every buffer; where one takes another's bytes over, they count as the one
// that takes them.
template <class See>
void for_each_live_step(const UnplacedBody& body, See see) {
  std::vector<bool> is_taken(body.trace.buffers.size());
  for (int from : body.takes_over)
    if (from >= 0) is_taken[static_cast<size_t>(from)] = true;
  for (size_t b = 0; b < body.trace.buffers.size(); ++b) {
    const memory::Interval& interval = body.trace.buffers[b].intervals.front();
    for (int64_t step = interval.begin; step < interval.end - (is_taken[b] ? 1 : 0); ++step)
      see(body.trace.buffers[b], static_cast<size_t>(step));
  }
}

class UnplacedCompiler {
 public:
  UnplacedCompiler(Graph graph, const std::vector<std::string>& placed, const ops::OpSet& ops,
                   const CompileOptions& options)
      : graph_(std::move(graph)), wanted_(placed), ops_(ops), options_(options) {}

  UnplacedBody run() {
    options_.updates_at_end ? sink_updates(graph_) : hoist_updates(graph_);
    verify(graph_, ops_.table());
    const LoweredNodes lowered = lower(graph_, ops_, options_.device, options_.threads);
    list_placed();
    liveness_ = find_liveness(graph_, lowered,
                              {.alignment = options_.alignment,
                               .guard_bytes = 0,
                               .step_values_are_placed = false,
                               .is_placed = [this](const Value& value) { return placed_index(value) >= 0; }});
    emit_instructions(lowered);
    list_tensors();
    body_.trace = std::move(liveness_.trace);
    body_.takes_over = std::move(liveness_.takes_over);
    count_live();
    return std::move(body_);
  }

 private:
  int placed_index(const Value& root) const { return placed_of_value_[root.id.index()]; }

  bool is_wanted(const Value& root) const { return std::ranges::find(wanted_, root.name) != wanted_.end(); }

  void list_placed() {
    placed_of_value_.assign(graph_.values().size(), -1);
    for (const Value& value : graph_.values()) {
      if (value.removed || value.overwrites.valid()) continue;
      if (is_wanted(value)) {
        placed_of_value_[value.id.index()] = static_cast<int>(body_.placed.size());
        body_.placed.push_back({value.name, value.type.bytes(), {-1, placed_of_value_[value.id.index()]}});
      } else if (value.scope == Scope::run) {
        throw Error(ErrorCode::config, "value '" + value.name + "' of '" + graph_.name() +
                                           "' lives for the whole run but has no place; bind it");
      }
    }
  }

  UnplacedOperand operand(ValueId id) const {
    if (!id.valid()) return {};
    const Value& root = graph_.value(graph_.storage(id));
    if (const int index = placed_index(root); index >= 0) return {-1, index};
    return {liveness_.buffer_of_value[id.index()], -1};
  }

  void emit_instructions(const LoweredNodes& lowered) {
    for (size_t i = 0; i < graph_.order().size(); ++i) {
      const Node& node = graph_.node(graph_.order()[i]);
      const LoweredNode& how = lowered.at(node.id);
      UnplacedInstruction instruction;
      instruction.node = node.name;
      instruction.kernel = how.kernel;
      instruction.packed_which = how.packed_which;
      for (ValueId v : node.inputs) instruction.inputs.push_back(operand(v));
      for (ValueId v : node.outputs) {
        instruction.outputs.push_back(operand(v));
        const Value& value = graph_.value(v);
        body_.updates_run_values |= value.overwrites.valid() && value.scope == Scope::run;
      }
      instruction.workspace = liveness_.workspace_of_node[i];
      body_.instructions.push_back(std::move(instruction));
    }
  }

  void list_tensors() {
    for (const Value& value : graph_.values())
      if (const UnplacedOperand at = operand(value.id); value.external() && at.buffer >= 0)
        body_.externals.push_back({value.name, value.type.bytes(), at});
    for (ValueId id : graph_.results())
      body_.results.push_back({graph_.value(id).name, graph_.value(id).type.bytes(), operand(id)});
  }

  void count_live() {
    body_.live.assign(std::max<size_t>(body_.instructions.size(), 1), CategoryBytes{});
    for_each_live_step(body_, [&](const memory::Buffer& buffer, size_t step) {
      body_.live[step][static_cast<size_t>(buffer.category)] += buffer.bytes;
    });
  }

  Graph graph_;
  const std::vector<std::string>& wanted_;
  const ops::OpSet& ops_;
  const CompileOptions& options_;
  std::vector<int> placed_of_value_;  // of first versions
  Liveness liveness_;
  UnplacedBody body_;
};

}  // namespace

int64_t UnplacedBody::blocks_peak_bytes(int64_t page_bytes) const {
  std::vector<int64_t> large(live.size()), small(live.size());
  for_each_live_step(*this, [&](const memory::Buffer& buffer, size_t step) {
    if (buffer.bytes > page_bytes / 2) {
      large[step] += round_up(buffer.bytes, page_bytes);
    } else {
      small[step] += buffer.bytes;
    }
  });
  int64_t peak = 0;
  for (size_t i = 0; i < large.size(); ++i) peak = std::max(peak, large[i] + round_up(small[i], page_bytes));
  return peak;
}

UnplacedBody compile_unplaced(BodySpec spec, const std::vector<std::string>& placed, const ops::OpSet& ops,
                              const CompileOptions& options) {
  UnplacedBody body = UnplacedCompiler(std::move(spec.graph), placed, ops, options).run();
  body.name = std::move(spec.name);
  return body;
}

}  // namespace tidemark::compile
