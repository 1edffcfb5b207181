// A compiled program: bodies of instructions over one arena, every byte placed before anything runs.
//
// The arena, from offset 0:   | run segment | step segment | body area ...           |
//   run segment   weights, optimizer state, statistics: the same offsets in every body
//   step segment  what lives from micro-batch to micro-batch of one step (accumulated gradients, step inputs);
//                 only bodies with shares_step_segment keep out of it
//   body area     activations, gradients, packed weights, workspaces, batch inputs of the body that runs
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/category.h"
#include "graph/graph.h"
#include "memory/arena/offset_planner.h"
#include "memory/trace/trace.h"
#include "ops/kernel.h"

namespace tidemark::compile {

// A named range of the arena.
struct Tensor {
  std::string name;
  ValueType type;
  Category category = Category::activations;
  Scope scope = Scope::micro_batch;
  int64_t offset = 0;  // bytes from the arena's start
  int64_t bytes() const { return type.bytes(); }
};

// Runs one kernel, or packs one input for a kernel. Offsets are bytes from the arena's start, -1 for an absent operand.
struct Instruction {
  std::string node;  // node name, for messages
  std::string op;
  std::string kernel_name;  // "onednn:matmul"
  std::shared_ptr<const ops::Kernel> kernel;
  int packed_which = -1;  // >= 0: this instruction is kernel->pack(packed_which, ...)
  std::vector<int64_t> inputs;
  std::vector<int64_t> outputs;
  int64_t workspace = -1;
  std::vector<ValueId> input_values;  // parallel to inputs, of the body's graph
  std::vector<ValueId> output_values;
  int64_t workspace_bytes = 0;
  std::optional<int64_t> cost_nanoseconds;  // of one run; in bodies that recompute, where CostSum asks for costs
};

// What recomputation did to a body.
struct Recomputation {
  std::string planner;              // empty: the body runs as it was written
  int64_t further_runs = 0;         // instructions that run again
  double overhead = 0;              // their cost by the cost of everything else
  double overhead_lower_bound = 0;  // of any schedule within the budget, as far as proven
};

struct Body {
  std::string name;  // "micro_batch[32]"
  Graph graph;       // as lowered: with pack nodes, in execution order
  bool shares_step_segment = false;
  std::vector<Instruction> instructions;
  // Node and kernel of each instruction before recomputation, in order. Nothing that recomputation does to a body, also
  // that nodes run in parts, changes a bit of what they compute.
  std::vector<std::pair<std::string, std::string>> kernels;
  std::vector<Tensor> externals;              // step- and micro-batch-scope values that hold their bytes at the start
  std::vector<Tensor> results;                // hold their bytes at the end
  memory::Trace trace;                        // buffers of the body area; step i is instruction i
  memory::OffsetPlan plan;                    // offsets from `base`
  std::vector<std::string> buffer_names;      // parallel to trace.buffers: tensor or "node/workspace"
  std::vector<int64_t> offset_of_value;       // by value id, bytes from the arena's start
  std::vector<int> buffer_of_value;           // by value id, index into trace.buffers; -1: in a segment, or unused
  std::vector<int> workspace_of_instruction;  // index into trace.buffers, -1: none
  int64_t guard_bytes = 0;                    // around every buffer; included in the trace's bytes
  std::vector<CategoryBytes> live;            // live bytes at every instruction, segments included
  Recomputation recomputation;
  std::optional<int64_t> cost_nanoseconds;  // of one run: see CostSum
  int64_t base = 0;                         // where the body area starts
  int64_t peak_bytes = 0;                   // base + plan.peak_bytes
  int64_t lower_bound_bytes = 0;            // base + plan.lower_bound_bytes

  const Tensor& external(std::string_view name) const;  // TM_CHECK: exists
  const Tensor& result(std::string_view name) const;
};

// At which instruction most bytes are live.
size_t peak_instruction_of(const Body& body);

struct PeakTensor {
  std::string name;
  int64_t bytes = 0;
  Category category = Category::activations;
};

struct Program {
  std::string name;  // of the model, for messages
  std::vector<Tensor> persistent;
  std::vector<Tensor> step;
  int64_t run_segment_bytes = 0;
  int64_t step_segment_bytes = 0;
  std::vector<Body> bodies;
  int64_t arena_bytes = 0;          // the highest offset any body touches
  int64_t lower_bound_bytes = 0;    // no layout of these schedules needs less
  size_t peak_body = 0;             // which body sets arena_bytes; see set_peak_body
  size_t peak_instruction = 0;      // and at which of its instructions most bytes are live
  CategoryBytes peak_categories{};  // live there

  const Body* find_body(std::string_view name) const;  // nullptr if there is none
  const Body& body(std::string_view name) const;       // TM_CHECK: exists
  const Tensor& persistent_tensor(std::string_view name) const;

  // The three figures above become those of this body, where several reach arena_bytes to the page of a device.
  void set_peak_body(size_t body);

  // The largest tensors that are live at the peak, or at that of one body, largest first; segments included.
  std::vector<PeakTensor> tensors_at_peak(size_t count) const;
  std::vector<PeakTensor> tensors_at_peak(const Body& body, size_t count) const;
};

}  // namespace tidemark::compile
