// Stochastic gradient descent with momentum (and Nesterov's form), as PyTorch's SGD computes it.
#pragma once

#include "framework/optim/optimizer.h"

namespace tidemark::optim {

class Sgd : public Optimizer {
 public:
  using Optimizer::Optimizer;
  std::string_view name() const override { return "sgd"; }
  int64_t hyper_size() const override { return 1; }  // lr
  void write_hyper(int64_t step, double lr, std::span<float> hyper) const override;
  void append_update(Builder& builder, const ParameterGradient& what, ValueId hyper,
                     ValueId gradient_scale) const override;
};

}  // namespace tidemark::optim
