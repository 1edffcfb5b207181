// Reverse-mode differentiation: appends the backward pass of a scalar loss, node by node from each op's gradient rule.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/builder.h"

namespace tidemark {

struct AutodiffOptions {
  // Gradients of these parameters are added onto the given external values (Scope::step, zeroed when a step begins),
  // for accumulation over micro-batches. Parameters that are absent here get a fresh gradient value of their own.
  std::map<ValueId, ValueId> accumulators;
  // Of parameters that several nodes read: what the second, third .. of them, in reverse node order, add onto instead;
  // the gradient is then the sum of the accumulators. Where they are fewer than nodes, the rest share the last.
  std::map<ValueId, std::vector<ValueId>> further_accumulators;
  // Contributions to a fresh gradient are added up when they are complete, instead of one onto the other: what
  // further_accumulators does, without accumulators.
  bool sums_apart = false;
};

struct Gradients {
  // By parameter (version 0): the complete gradient, a value named "PARAMETER/gradient" unless it is a version of an
  // accumulator (with further ones: of the first). Parameters that the loss does not depend on are absent.
  std::map<ValueId, ValueId> of;
};

// `loss` is f32[1] and already holds the weighting of its samples; its own gradient is 1. Gradients are computed for
// the external values of Category::weights that it depends on. The rule of a fan-out: contributions are added in
// reverse node order, so the order of float sums is fixed. Throws Error(config) for an op without a gradient on the
// way.
Gradients append_backward(Graph& graph, const OpTable& ops, ValueId loss, const AutodiffOptions& options = {});

// What a gradient rule works with: one forward node, and where its gradients go.
class GradientContext {
 public:
  virtual ~GradientContext() = default;

  virtual const Node& forward() const = 0;
  virtual const ValueType& input_type(size_t i) const = 0;
  ValueId input(size_t i) const { return i < forward().inputs.size() ? forward().inputs[i] : ValueId(); }
  ValueId output(size_t i) const { return forward().outputs.at(i); }

  // Gradient of output i; invalid if nothing depends on it.
  virtual ValueId output_gradient(size_t i) const = 0;
  // True if output i is the loss itself, or was summed into it: its gradient is the constant 1 and no value exists for
  // it (output_gradient(i) is then invalid; passed to add_gradient(), it makes that input's gradient the constant 1).
  virtual bool is_loss(size_t i) const = 0;
  // Whether anybody wants the gradient of input i (false for absent inputs, data, integer inputs).
  virtual bool needs_gradient(size_t i) const = 0;

  // The sum of gradients already collected for input i, if it exists and may be overwritten here; else invalid. A rule
  // whose backward op can add onto it passes it on as that op's accumulator input (OutputSpec::overwrites) and calls
  // set_accumulated; everybody else calls add_gradient, and autodiff adds the two up with an `add` node (onto an
  // external accumulator: `add_into`). Contributions to inputs that need no gradient are dropped.
  virtual ValueId accumulator(size_t i) = 0;
  virtual void set_accumulated(size_t i, ValueId sum) = 0;
  virtual void add_gradient(size_t i, ValueId contribution) = 0;

  // Appends a backward node named "FORWARD/NAME" and returns its outputs (invalid inputs: absent).
  virtual std::vector<ValueId> emit(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                                    Attributes attributes = {}) = 0;

  // The forward node's output i is from now on `by`, computed in the backward pass (fused loss ops compute loss and
  // gradients in one go): it takes over name, readers and results. When all its outputs are replaced the forward node
  // is removed. Forward nodes that depend on the output move behind `by`.
  virtual void replace_output(size_t i, ValueId by) = 0;
};

}  // namespace tidemark
