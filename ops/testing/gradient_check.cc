#include "ops/testing/gradient_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "ops/testing/gradient_body.h"
#include "ops/testing/tensor_bytes.h"
#include "ops/testing/weighted_sum.h"

namespace tidemark::ops::testing {
namespace {

// Larger inputs are sampled: a difference costs two evaluations of the reference.
constexpr size_t kMostElements = 96;

class GradientCheck {
 public:
  GradientCheck(const OpSet& ops, const OpCase& op_case, const std::vector<Reference>& inputs,
                const std::vector<Reference>& outputs, uint64_t seed)
      : ops_(with_gradient_check_ops(ops)), problem_{op_case, inputs, outputs, {}, {}, {}}, random_(seed) {
    for (const Reference& output : outputs) problem_.output_weights.push_back(random_like(output.type));
    for (const Reference& input : inputs) {
      problem_.use_weights.push_back(random_like(input.type));
      problem_.accumulators.push_back(random_like(input.type));
    }
  }

  std::vector<std::string> run() {
    const std::vector<size_t> all = differentiable_inputs();
    if (all.empty()) return {"no input is differentiable: set check_gradient = false"};
    for (const size_t i : all) differences_[i] = difference_quotients(i);
    for (const GradientVariant& variant : variants(all)) check(variant);
    return faults_;
  }

 private:
  std::vector<size_t> differentiable_inputs() const {
    std::vector<size_t> found;
    for (size_t i = 0; i < problem_.inputs.size(); ++i) {
      const InputSpec& spec = problem_.op_case.inputs[i];
      if (!spec.absent && spec.differentiable && spec.type.dtype == DType::f32) found.push_back(i);
    }
    return found;
  }

  std::vector<GradientVariant> variants(const std::vector<size_t>& all) const {
    std::vector<GradientVariant> list;
    for (const int threads : problem_.op_case.threads)
      list.push_back({.name = "fresh", .parameters = all, .threads = threads});
    const int threads = problem_.op_case.threads.back();
    list.push_back({.name = "onto accumulators", .parameters = all, .accumulate = true, .threads = threads});
    if (!problem_.op_case.is_loss)
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
    const std::vector<Reference> outputs = problem_.op_case.reference(problem_.op_case.attributes, inputs);
    if (problem_.op_case.is_loss) return outputs.at(0).data.at(0);
    double loss = 0;
    for (const size_t o : problem_.op_case.gradient_outputs) {
      const std::vector<double>& r = problem_.output_weights.at(o).data;
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
    const size_t count = problem_.inputs[input].data.size();
    quotients.elements.resize(count);
    std::iota(quotients.elements.begin(), quotients.elements.end(), size_t{0});
    std::shuffle(quotients.elements.begin(), quotients.elements.end(), random_);
    quotients.elements.resize(std::min(count, kMostElements));
    std::vector<Reference> moved = problem_.inputs;
    for (const size_t e : quotients.elements) {
      const double x = problem_.inputs[input].data[e], step = 1e-5 * (1 + std::abs(x));
      moved[input].data[e] = x + step;
      const double above = loss_at(moved);
      moved[input].data[e] = x - step;
      quotients.values.push_back((above - loss_at(moved)) / (2 * step));
      moved[input].data[e] = x;
    }
    return quotients;
  }

  void check(const GradientVariant& variant) {
    try {
      compare(variant, run_gradient_body(ops_, problem_, variant));
    } catch (const Error& e) {
      fault(variant, e.what());
    }
  }

  void fault(const GradientVariant& variant, const std::string& text) {
    const std::string threads = std::to_string(variant.threads) + " thread(s)";
    faults_.push_back("gradient (" + variant.name + ", " + threads + "): " + text);
  }

  void compare(const GradientVariant& variant, const GradientOutcome& outcome) {
    if (problem_.op_case.is_loss) {
      const std::string wrong = find_difference(problem_.outputs[0], {outcome.loss}, problem_.op_case.tolerance, 1);
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

  void compare_input(const GradientVariant& variant, size_t i, const std::vector<double>& gradient) {
    const Quotients& quotients = differences_.at(i);
    Reference want{{DType::f32, {static_cast<int64_t>(quotients.elements.size())}}, quotients.values};
    double squares = 0;
    for (const double value : want.data) squares += value * value;
    const double rms = std::sqrt(squares / static_cast<double>(want.data.size()));
    std::vector<double> got;
    for (const size_t e : quotients.elements) {
      double added = variant.accumulate ? problem_.accumulators[i].data[e] : 0.0;
      if (variant.use_twice) added += problem_.use_weights[i].data[e];
      got.push_back(gradient[e] - added);
    }
    const std::string wrong = find_difference(want, got, problem_.op_case.gradient_tolerance, std::max(1e-3, rms));
    if (!wrong.empty()) fault(variant, "input " + std::to_string(i) + ", of sampled elements: " + wrong);
  }

  const OpSet ops_;
  GradientProblem problem_;
  std::mt19937_64 random_;
  std::map<size_t, Quotients> differences_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> gradient_faults(const OpSet& ops, const OpCase& op_case, const std::vector<Reference>& inputs,
                                         const std::vector<Reference>& outputs, uint64_t seed) {
  return GradientCheck(ops, op_case, inputs, outputs, seed).run();
}

}  // namespace tidemark::ops::testing
