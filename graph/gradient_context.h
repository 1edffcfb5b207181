// The GradientContext that a BackwardPass gives to the rule of one forward node.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/backward_pass.h"

namespace tidemark {

class NodeGradientContext : public GradientContext {
 public:
  NodeGradientContext(BackwardPass& pass, const Node& node);

  const Node& forward() const override { return node_; }
  const ValueType& input_type(size_t i) const override { return *types_.at(i); }
  ValueId output_gradient(size_t i) const override { return pass_.sums_.sum(output(i)); }
  bool is_loss(size_t i) const override { return pass_.is_loss(output(i)); }
  bool needs_gradient(size_t i) const override { return pass_.is_active(input(i)); }
  ValueId accumulator(size_t i) override;
  void set_accumulated(size_t i, ValueId sum) override;
  void add_gradient(size_t i, ValueId contribution) override;
  std::vector<ValueId> emit(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                            Attributes attributes) override;
  void replace_output(size_t i, ValueId by) override { pass_.replace(output(i), by); }

 private:
  std::string where(size_t i) const;

  BackwardPass& pass_;
  Node node_;  // copies: the graph's own move when nodes and values are appended
  std::vector<std::optional<ValueType>> types_;
};

}  // namespace tidemark
