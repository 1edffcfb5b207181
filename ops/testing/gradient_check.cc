#include "ops/testing/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/builder.h"
#include "ops/testing/run_graph.h"
#include "ops/testing/tensor_bytes.h"
#include "ops/testing/weighted_sum.h"

namespace tidemark::ops::testing {
namespace {

// Larger inputs are sampled: a difference costs two evaluations of the reference.
constexpr size_t kMostElements = 96;

// One way to ask for gradients; all must give the same, up to what they add to it.
struct Variant {
  std::string name;
  std::vector<size_t> parameters;  // inputs whose gradient is asked for; the others are plain inputs
  bool accumulate = false;         // onto external accumulators
  bool use_twice = false;  // parameters also enter the loss directly, so that a partial sum exists before the rule runs
  int threads = 1;
};

class GradientCheck {
 public:
  GradientCheck(const OpSet& ops, const OpCase& op_case, const std::vector<Reference>& inputs,
                const std::vector<Reference>& outputs, uint64_t seed)
      : ops_(with_gradient_check_ops(ops)), case_(op_case), inputs_(inputs), outputs_(outputs), random_(seed) {
    for (const Reference& output : outputs_) output_weights_.push_back(random_like(output.type));
    for (const Reference& input : inputs_) {
      use_weights_.push_back(random_like(input.type));
      accumulators_.push_back(random_like(input.type));
    }
  }

  std::vector<std::string> run() {
    const std::vector<size_t> all = differentiable_inputs();
    if (all.empty()) return {"no input is differentiable: set check_gradient = false"};
    for (const size_t i : all) differences_[i] = difference_quotients(i);
    for (const Variant& variant : variants(all)) check(variant);
    return faults_;
  }

 private:
  std::vector<size_t> differentiable_inputs() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const InputSpec& spec = case_.inputs[i];
      if (!spec.absent && spec.differentiable && spec.type.dtype == DType::f32) found.push_back(i);
    }
    return found;
  }

  std::vector<Variant> variants(const std::vector<size_t>& all) const {
    std::vector<Variant> list;
    for (const int threads : case_.threads) list.push_back({.name = "fresh", .parameters = all, .threads = threads});
    const int threads = case_.threads.back();
    list.push_back({.name = "onto accumulators", .parameters = all, .accumulate = true, .threads = threads});
    if (!case_.is_loss)
      list.push_back({.name = "used twice", .parameters = all, .use_twice = true, .threads = threads});
    for (const size_t i : all) {
      const std::string name = "of input " + std::to_string(i) + " alone";
      if (all.size() > 1) list.push_back({.name = name, .parameters = {i}, .threads = threads});
    }
    return list;
  }

  Reference random_like(const ValueType& type) { return make_input({.type = {DType::f32, type.shape}}, random_); }

  // The loss in double at the given inputs.
  double loss_at(const std::vector<Reference>& inputs) const {
    const std::vector<Reference> outputs = case_.reference(case_.attributes, inputs);
    if (case_.is_loss) return outputs.at(0).data.at(0);
    double loss = 0;
    for (const size_t o : case_.gradient_outputs) {
      const std::vector<double>& r = output_weights_.at(o).data;
      loss = std::inner_product(r.begin(), r.end(), outputs.at(o).data.begin(), loss);
    }
    return loss;
  }

  // Indices of elements whose gradient is compared, and the quotients.
  struct Quotients {
    std::vector<size_t> elements;
    std::vector<double> values;
  };

  Quotients difference_quotients(size_t input) {
    Quotients quotients;
    const size_t count = inputs_[input].data.size();
    quotients.elements.resize(count);
    std::iota(quotients.elements.begin(), quotients.elements.end(), size_t{0});
    std::shuffle(quotients.elements.begin(), quotients.elements.end(), random_);
    quotients.elements.resize(std::min(count, kMostElements));
    std::vector<Reference> moved = inputs_;
    for (const size_t e : quotients.elements) {
      const double x = inputs_[input].data[e], step = 1e-5 * (1 + std::abs(x));
      moved[input].data[e] = x + step;
      const double above = loss_at(moved);
      moved[input].data[e] = x - step;
      quotients.values.push_back((above - loss_at(moved)) / (2 * step));
      moved[input].data[e] = x;
    }
    return quotients;
  }

  void check(const Variant& variant) {
    try {
      compare(variant, Body(*this, variant).run());
    } catch (const Error& e) {
      fault(variant, e.what());
    }
  }

  void fault(const Variant& variant, const std::string& text) {
    const std::string threads = std::to_string(variant.threads) + " thread(s)";
    faults_.push_back("gradient (" + variant.name + ", " + threads + "): " + text);
  }

  struct Outcome {
    std::map<size_t, std::vector<double>> gradients;  // by input; absent: the loss was said not to depend on it
    double loss = 0;
  };

  // The graph of one variant.
  class Body {
   public:
    Body(const GradientCheck& check, const Variant& variant)
        : check_(check), variant_(variant), graph_(check.case_.name), builder_(graph_, check.ops_.table()) {}

    Outcome run() {
      add_inputs();
      ValueId loss = add_loss();
      graph_.add_result(loss);
      const Gradients gradients = append_backward(graph_, check_.ops_.table(), loss, options_);
      for (const auto& [parameter, gradient] : gradients.of) graph_.add_result(gradient);
      loss = graph_.results().at(0);  // a fused op may have replaced it
      ValueBytes bytes = run_graph(graph_, check_.ops_, externals_, variant_.threads);
      Outcome outcome{.loss = to_doubles(graph_.value(loss).type, bytes.at(loss).data())[0]};
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
      for (size_t i = 0; i < check_.inputs_.size(); ++i) {
        values_.push_back(check_.case_.inputs[i].absent ? ValueId() : add_input(i));
      }
    }

    ValueId add_input(size_t i) {
      const std::string name = "input" + std::to_string(i);
      if (!is_parameter(i)) return add_external(name, check_.inputs_[i], Category::input, Scope::micro_batch);
      const ValueId id = add_external(name, check_.inputs_[i], Category::weights, Scope::run);
      if (variant_.accumulate) {
        options_.accumulators[id] =
            add_external(name + "_sum", check_.accumulators_[i], Category::gradients, Scope::step);
      }
      return id;
    }

    ValueId add_loss() {
      const std::vector<ValueId> outputs = builder_.node(check_.case_.op, "node", values_, check_.case_.attributes);
      if (check_.case_.is_loss) return outputs.at(0);
      std::vector<ValueId> terms;
      const auto add_term = [&](const std::string& name, ValueId y, const Reference& weights) {
        terms.push_back(y);
        terms.push_back(add_external(name, weights, Category::input, Scope::micro_batch));
      };
      for (const size_t o : check_.case_.gradient_outputs) {
        add_term("r" + std::to_string(o), outputs.at(o), check_.output_weights_[o]);
      }
      for (const size_t i : variant_.use_twice ? variant_.parameters : std::vector<size_t>()) {
        add_term("s" + std::to_string(i), values_[i], check_.use_weights_[i]);
      }
      return builder_.op("weighted_sum", "loss", terms);
    }

    const GradientCheck& check_;
    const Variant& variant_;
    Graph graph_;
    Builder builder_;
    AutodiffOptions options_;
    ValueBytes externals_;
    std::vector<ValueId> values_;  // of the inputs
  };

  void compare(const Variant& variant, const Outcome& outcome) {
    if (case_.is_loss) {
      const std::string wrong = find_difference(outputs_[0], {outcome.loss}, case_.tolerance, 1);
      if (!wrong.empty()) fault(variant, "loss of the backward pass: " + wrong);
    }
    for (const size_t i : variant.parameters) {
      const auto found = outcome.gradients.find(i);
      if (found == outcome.gradients.end()) {
        fault(variant, "input " + std::to_string(i) + " got none; set differentiable = false if it has none");
      } else {
        compare_input(variant, i, found->second);
      }
    }
  }

  void compare_input(const Variant& variant, size_t i, const std::vector<double>& gradient) {
    const Quotients& quotients = differences_.at(i);
    Reference want{{DType::f32, {static_cast<int64_t>(quotients.elements.size())}}, quotients.values};
    double squares = 0;
    for (const double value : want.data) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(want.data.size()));
    std::vector<double> got;
    for (const size_t e : quotients.elements) {
      double added = variant.accumulate ? accumulators_[i].data[e] : 0.0;
      if (variant.use_twice) added += use_weights_[i].data[e];
      got.push_back(gradient[e] - added);
    }
    const std::string wrong = find_difference(want, got, case_.gradient_tolerance, std::max(1e-3, rms));
    if (!wrong.empty()) fault(variant, "input " + std::to_string(i) + ", of sampled elements: " + wrong);
  }

  const OpSet ops_;
  const OpCase& case_;
  const std::vector<Reference>& inputs_;
  const std::vector<Reference>& outputs_;
  std::mt19937_64 random_;
  std::vector<Reference> output_weights_, use_weights_, accumulators_;
  std::map<size_t, Quotients> differences_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> gradient_faults(const OpSet& ops, const OpCase& op_case, const std::vector<Reference>& inputs,
                                         const std::vector<Reference>& outputs, uint64_t seed) {
  return GradientCheck(ops, op_case, inputs, outputs, seed).run();
}

}  // namespace tidemark::ops::testing
