// Writes the backward pass of a loss: the machinery behind append_backward(), which is what everybody else calls.
#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "graph/autodiff.h"
#include "graph/gradient_sums.h"

namespace tidemark {

class BackwardPass {
 public:
  // `exclusive_only` false switches the safeguard of Note [Exclusive sums] off, for the tests that show what it is for.
  BackwardPass(Graph& graph, const OpTable& ops, ValueId loss, const AutodiffOptions& options,
               bool exclusive_only = true);

  Gradients run();

 private:
  friend class NodeGradientContext;

  void check_arguments() const;
  void find_active();
  bool has_gradient(const Node& node) const;
  void differentiate(NodeId id);
  bool is_active(ValueId id) const { return id.valid() && id.index() < active_.size() && active_[id.index()]; }
  bool is_loss(ValueId id) const { return id == loss_ || sums_.is_one(id); }
  void replace(ValueId output, ValueId by);
  bool is_parameter(ValueId id) const { return std::ranges::find(parameters_, id) != parameters_.end(); }
  // Goes on to the next accumulator of `parameter` if another node has added onto this one.
  void begin_contribution(ValueId parameter, NodeId node);
  Gradients collect();
  void finish_fresh(ValueId parameter, ValueId gradient);

  Graph& graph_;
  const OpTable& ops_;
  Builder builder_;
  ValueId loss_;
  const AutodiffOptions& options_;
  GradientSums sums_;
  std::vector<ValueId> parameters_;
  std::vector<bool> active_;                // by forward value: depends on a parameter
  std::map<ValueId, ValueId> finished_;     // by parameter: the sum on its first accumulator, where there are further
  std::map<ValueId, size_t> further_used_;  // by parameter: of its further accumulators
  std::set<ValueId> replaced_;
  std::set<ValueId> named_;  // fresh gradients that carry a parameter's name already
};

}  // namespace tidemark
