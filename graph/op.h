// What an op says of itself, independent of any device: shapes, gradient, cost, sharing. Implementations live in ops/.
//
// To add an op: see ops/op_definition.h.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace tidemark {

// An application of an op to typed inputs; the shape rule, the cost and the kernels see nothing else.
struct OpCall {
  const Attributes& attributes;
  std::span<const std::optional<ValueType>> inputs;  // nullopt: an absent optional input

  bool has(size_t i) const { return i < inputs.size() && inputs[i].has_value(); }
  const ValueType& input(size_t i) const;  // Error(config) if absent
};

struct OutputSpec {
  ValueType type;
  std::string suffix;  // value name = node name + "/" + suffix; empty for the main output
  Category category = Category::activations;
  std::optional<size_t> overwrites;  // index of the input whose bytes this output must take (its next version); ignored
                                     // where that optional input is absent
  std::vector<size_t> may_share;     // inputs (same bytes) that the kernel may be given as this output's address
};

struct Cost {
  double flops = 0;
  int64_t bytes_read = 0;
  int64_t bytes_written = 0;
};

// What an op does with samples, whose number, or that of their rows, is the first dimension of some of its operands.
// Run on consecutive slices of them, one after the other, with all other operands whole, it gives the same bits as on
// all at once, except for sums: they depend on how many were summed before they were added up.
struct SampleRule {
  struct Sum {
    size_t output = 0;                  // + a value of each sample, of a type without samples
    std::optional<size_t> accumulator;  // the optional input that the output is added onto
  };
  std::vector<size_t> inputs;   // operands with samples; the first gives their number
  std::vector<size_t> outputs;  // each output is here or in `sums`
  std::vector<Sum> sums;
  // Samples that belong together, 0: none do. Slices begin at multiples of it, an operand may have one row for so many,
  // and sums are rounded after each such group: they have the same bits however many groups run at once.
  int64_t group = 0;
  std::string shape_attribute;  // of integers whose first is the number of samples; empty: the op has none
};

class GradientContext;  // graph/autodiff.h

class Op {
 public:
  virtual ~Op() = default;

  virtual std::string_view name() const = 0;

  // The shape rule. Throws Error(config) that names op, operand and shapes, wanted against given.
  virtual std::vector<OutputSpec> outputs(const OpCall& call) const = 0;

  // Appends the backward nodes through the context. Default: Error(config) "op 'x' has no gradient".
  virtual void gradient(GradientContext& context) const;

  virtual Cost cost(const OpCall& call) const = 0;

  // nullopt: nothing is promised, and a body with this op is not cut into smaller ones. A rule without inputs: the
  // operands have no samples.
  virtual std::optional<SampleRule> samples(const OpCall& call) const;

  // False for what must run exactly once a step: updates, running statistics.
  virtual bool may_run_twice() const { return true; }
};

// The known ops by name; made by ops/all_ops.h and passed along, never global.
class OpTable {
 public:
  void add(std::unique_ptr<Op> op);             // TM_CHECK: name is new
  const Op& find(std::string_view name) const;  // Error(config) with the nearest known name
  std::vector<std::string_view> names() const;

 private:
  std::map<std::string, std::unique_ptr<Op>, std::less<>> ops_;
};

// The input types of a node, in the form that Op takes (storage for OpCall::inputs).
std::vector<std::optional<ValueType>> input_types(const Graph& graph, const Node& node);

}  // namespace tidemark
