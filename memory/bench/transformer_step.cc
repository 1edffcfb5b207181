#include "memory/bench/transformer_step.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::memory {
namespace {

constexpr int64_t kBytesPerNumber = 2;
constexpr int64_t kStepsPerLayer = 40;

// What the gradient of one input of a forward step reads beside the output's gradient, and what it costs.
struct InputGradient {
  int32_t input = 0;
  int64_t cost = 0;
  std::vector<int32_t> saved;
};

struct Forward {
  int32_t output = 0;
  std::vector<InputGradient> gradients;
  int64_t weight_cost = 0;  // 0: no weight
  int64_t weight_bytes = 0;
};

class StepMaker {
 public:
  explicit StepMaker(const TransformerShape& shape)
      : width_(shape.width),
        rows_(shape.sequences * shape.tokens),
        columns_(shape.tokens),
        hidden_bytes_(rows_ * shape.width * kBytesPerNumber),
        scores_bytes_(rows_ * shape.heads * shape.tokens * kBytesPerNumber) {}

  StepTrace run(int64_t layers) {
    int32_t x = add_step("embedding", hidden_bytes_, hidden_bytes_, {});
    for (int64_t i = 0; i < layers; ++i) {
      prefix_ = "layer" + std::to_string(i) + "/";
      x = attention(x);
      x = feed_forward(x);
    }
    prefix_.clear();
    const int32_t loss = add_step("loss", hidden_bytes_, kBytesPerNumber, {x});
    gradients_.resize(trace_.values.size());
    gradients_[x] = {add_step("loss_gradient", hidden_bytes_, hidden_bytes_, {x, loss})};
    for (auto forward = forwards_.rbegin(); forward != forwards_.rend(); ++forward) backward(*forward);
    return std::move(trace_);
  }

 private:
  int32_t add_step(const std::string& name, int64_t cost, int64_t bytes, std::vector<int32_t> inputs) {
    const auto value = static_cast<int32_t>(trace_.values.size());
    trace_.values.push_back({.bytes = bytes, .name = prefix_ + name});
    Step step;
    step.cost = cost;
    step.inputs = std::move(inputs);
    step.outputs = {value};
    step.name = prefix_ + name;
    trace_.steps.push_back(std::move(step));
    return value;
  }

  int32_t linear(const std::string& name, int32_t x, int64_t in, int64_t out) {
    const int64_t cost = 2 * rows_ * in * out;
    const int32_t y = add_step(name, cost, rows_ * out * kBytesPerNumber, {x});
    forwards_.push_back({y, {{x, cost, {}}}, cost, in * out * kBytesPerNumber});
    return y;
  }

  // A product of two activations.
  int32_t product(const std::string& name, int32_t a, int32_t b, int64_t bytes) {
    const int64_t cost = 2 * rows_ * columns_ * width_;
    const int32_t y = add_step(name, cost, bytes, {a, b});
    forwards_.push_back({y, {{a, cost, {b}}, {b, cost, {a}}}});
    return y;
  }

  // A step whose gradient reads its input, its output, or neither.
  enum class Saves { input, output, nothing };
  int32_t pointwise(const std::string& name, int32_t x, int64_t bytes, int64_t cost_per_byte, Saves saves) {
    const int64_t cost = cost_per_byte * bytes;
    const int32_t y = add_step(name, cost, bytes, {x});
    std::vector<int32_t> saved;
    if (saves != Saves::nothing) saved = {saves == Saves::input ? x : y};
    forwards_.push_back({y, {{x, cost, saved}}});
    return y;
  }

  int32_t residual(int32_t x, int32_t branch) {
    const int32_t y = add_step("residual", hidden_bytes_, hidden_bytes_, {x, branch});
    forwards_.push_back({y, {{x, 0, {}}, {branch, 0, {}}}});
    return y;
  }

  int32_t attention(int32_t x) {
    const int32_t norm = pointwise("norm1", x, hidden_bytes_, 4, Saves::input);
    const int32_t q = linear("q", norm, width_, width_);
    const int32_t k = linear("k", norm, width_, width_);
    const int32_t v = linear("v", norm, width_, width_);
    const int32_t scores = product("scores", q, k, scores_bytes_);
    const int32_t softmax = pointwise("softmax", scores, scores_bytes_, 2, Saves::output);
    const int32_t dropped = pointwise("dropout", softmax, scores_bytes_, 1, Saves::nothing);
    const int32_t context = product("context", dropped, v, hidden_bytes_);
    return residual(x, linear("projection", context, width_, width_));
  }

  int32_t feed_forward(int32_t x) {
    const int32_t norm = pointwise("norm2", x, hidden_bytes_, 4, Saves::input);
    const int32_t wide = linear("up", norm, width_, 4 * width_);
    const int32_t active = pointwise("gelu", wide, 4 * hidden_bytes_, 4, Saves::input);
    return residual(x, linear("down", active, 4 * width_, width_));
  }

  void backward(const Forward& forward) {
    const std::string name = trace_.values[forward.output].name;
    std::vector<int32_t>& parts = gradients_[forward.output];
    int32_t gradient = parts.front();
    for (size_t i = 1; i < parts.size(); ++i)
      gradient =
          add_step(name + "/sum", trace_.values[gradient].bytes, trace_.values[gradient].bytes, {gradient, parts[i]});
    for (const InputGradient& part : forward.gradients) {
      // A sum hands the gradient on as it is.
      int32_t of_input = gradient;
      if (part.cost > 0) {
        std::vector<int32_t> reads = {gradient};
        reads.insert(reads.end(), part.saved.begin(), part.saved.end());
        of_input = add_step(name + "/gradient", part.cost, trace_.values[part.input].bytes, reads);
      }
      gradients_[part.input].push_back(of_input);
      if (forward.weight_cost > 0)
        add_step(name + "/weight_gradient", forward.weight_cost, forward.weight_bytes, {gradient, part.input});
    }
  }

  const int64_t width_;
  const int64_t rows_;
  const int64_t columns_;
  const int64_t hidden_bytes_;
  const int64_t scores_bytes_;
  StepTrace trace_;
  std::string prefix_;
  std::vector<Forward> forwards_;
  std::vector<std::vector<int32_t>> gradients_;  // by forward value: what has to be summed
};

}  // namespace

StepTrace transformer_step(int64_t steps, const TransformerShape& shape) {
  StepTrace trace = StepMaker(shape).run(std::max<int64_t>(1, steps / kStepsPerLayer));
  trace.name = "transformer_" + std::to_string(trace.steps.size());
  return trace;
}

}  // namespace tidemark::memory
