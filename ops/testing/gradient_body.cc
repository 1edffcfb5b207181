#include "ops/testing/gradient_body.h"

#include <algorithm>

#include "graph/autodiff.h"
#include "graph/builder.h"
#include "ops/testing/run_graph.h"
#include "ops/testing/tensor_bytes.h"

namespace tidemark::ops::testing {
namespace {

class GradientBody {
 public:
  GradientBody(const OpSet& ops, const GradientProblem& problem, const GradientVariant& variant)
      : ops_(ops), problem_(problem), variant_(variant), graph_(problem.op_case.name), builder_(graph_, ops.table()) {}

  GradientOutcome run() {
    add_inputs();
    ValueId loss = add_loss();
    graph_.add_result(loss);
    const Gradients gradients = append_backward(graph_, ops_.table(), loss, options_);
    for (const auto& [parameter, gradient] : gradients.of) graph_.add_result(gradient);
    loss = graph_.results().at(0);  // a fused op may have replaced it
    ValueBytes bytes = run_graph(graph_, ops_, externals_, variant_.threads);
    GradientOutcome outcome{.loss = to_doubles(graph_.value(loss).type, bytes.at(loss).data())[0]};
    for (const size_t i : variant_.parameters) {
      const auto found = gradients.of.find(values_[i]);
      if (found == gradients.of.end()) continue;
      outcome.gradients[i] = to_doubles(graph_.value(found->second).type, bytes.at(found->second).data());
    }
    return outcome;
  }

 private:
  ValueId add_external(const std::string& name, const Reference& data, Category category, Scope scope) {
    const ValueId id = builder_.external(name, data.type, category, scope);
    externals_[id] = to_bytes(data.type, data.data);
    return id;
  }

  bool is_parameter(size_t i) const {
    return std::find(variant_.parameters.begin(), variant_.parameters.end(), i) != variant_.parameters.end();
  }

  void add_inputs() {
    for (size_t i = 0; i < problem_.inputs.size(); ++i) {
      values_.push_back(problem_.op_case.inputs[i].absent ? ValueId() : add_input(i));
    }
  }

  ValueId add_input(size_t i) {
    const std::string name = "input" + std::to_string(i);
    if (!is_parameter(i)) return add_external(name, problem_.inputs[i], Category::input, Scope::micro_batch);
    const ValueId id = add_external(name, problem_.inputs[i], Category::weights, Scope::run);
    if (variant_.accumulate) {
      options_.accumulators[id] =
          add_external(name + "_sum", problem_.accumulators[i], Category::gradients, Scope::step);
    }
    return id;
  }

  ValueId add_loss() {
    const std::vector<ValueId> outputs =
        builder_.node(problem_.op_case.op, "node", values_, problem_.op_case.attributes);
    if (problem_.op_case.is_loss) return outputs.at(0);
    std::vector<ValueId> terms;
    const auto add_term = [&](const std::string& name, ValueId y, const Reference& weights) {
      terms.push_back(y);
      terms.push_back(add_external(name, weights, Category::input, Scope::micro_batch));
    };
    for (const size_t o : problem_.op_case.gradient_outputs) {
      add_term("r" + std::to_string(o), outputs.at(o), problem_.output_weights[o]);
    }
    for (const size_t i : variant_.use_twice ? variant_.parameters : std::vector<size_t>()) {
      add_term("s" + std::to_string(i), values_[i], problem_.use_weights[i]);
    }
    return builder_.op("weighted_sum", "loss", terms);
  }

  const OpSet& ops_;
  const GradientProblem& problem_;
  const GradientVariant& variant_;
  Graph graph_;
  Builder builder_;
  AutodiffOptions options_;
  ValueBytes externals_;
  std::vector<ValueId> values_;  // of the inputs
};

}  // namespace

GradientOutcome run_gradient_body(const OpSet& ops, const GradientProblem& problem, const GradientVariant& variant) {
  return GradientBody(ops, problem, variant).run();
}

}  // namespace tidemark::ops::testing
