// Writes the backward pass of a loss: the machinery behind append_backward(), which is what everybody else calls.
#pragma once

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
  Gradients collect();
  void finish_fresh(ValueId parameter, ValueId gradient);

  Graph& graph_;
  const OpTable& ops_;
  Builder builder_;
  ValueId loss_;
  const AutodiffOptions& options_;
  GradientSums sums_;
  std::vector<ValueId> parameters_;
  std::vector<bool> active_;  // by forward value: depends on a parameter
  std::set<ValueId> replaced_;
  std::set<ValueId> named_;  // fresh gradients that carry a parameter's name already
};

}  // namespace tidemark
