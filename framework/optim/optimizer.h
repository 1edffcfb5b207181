// Update rules: which state they keep, and the nodes that update a parameter in place.
//
// To add an optimizer: one .h/.cc/_test.cc with a class derived from Optimizer and one line in optimizer_list.cc.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/builder.h"

namespace tidemark::optim {

struct OptimizerOptions {
  double momentum = 0.9;      // sgd
  bool nesterov = false;      // sgd
  double beta1 = 0.9;         // adamw
  double beta2 = 0.999;       // adamw
  double eps = 1e-8;          // adamw
  double weight_decay = 0.0;  // applied to weights of rank >= 2 only: biases and normalisation scales do not decay
};

struct ParameterGradient {
  ValueId parameter;  // version 0
  ValueId gradient;   // complete
};

class Optimizer {
 public:
  explicit Optimizer(OptimizerOptions options) : options_(options) {}
  virtual ~Optimizer() = default;

  virtual std::string_view name() const = 0;

  // Number of f32 values that an update reads from memory each step (learning rate, bias corrections).
  virtual int64_t hyper_size() const = 0;
  // Writes them for step `step` (0-based) at learning rate `lr`; hyper has hyper_size() elements.
  virtual void write_hyper(int64_t step, double lr, std::span<float> hyper) const = 0;

  // Appends one update node. State values are declared as Category::optimizer, Scope::run, named "PARAMETER/...".
  // hyper: f32[hyper_size()]. gradient_scale: f32[1] that multiplies the gradient, or invalid for none.
  virtual void append_update(Builder& builder, const ParameterGradient& what, ValueId hyper,
                             ValueId gradient_scale) const = 0;

  const OptimizerOptions& options() const { return options_; }

 protected:
  double decay_of(const ValueType& type) const { return type.shape.rank() >= 2 ? options_.weight_decay : 0.0; }

 private:
  OptimizerOptions options_;
};

// Throws Error(config) naming the known ones.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name, const OptimizerOptions& options);
std::vector<std::string> optimizer_names();

}  // namespace tidemark::optim
