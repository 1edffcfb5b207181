// AdamW: Loshchilov and Hutter, "Decoupled Weight Decay Regularization", ICLR 2019, algorithm 2.
#pragma once

#include "framework/optim/optimizer.h"

namespace tidemark::optim {

class AdamW : public Optimizer {
 public:
  using Optimizer::Optimizer;
  std::string_view name() const override { return "adamw"; }
  int64_t hyper_size() const override { return 4; }  // lr, 1/(1-beta1^t), 1/(1-beta2^t), unused
  void write_hyper(int64_t step, double lr, std::span<float> hyper) const override;
  void append_update(Builder& builder, const ParameterGradient& what, ValueId hyper,
                     ValueId gradient_scale) const override;
};

}  // namespace tidemark::optim
