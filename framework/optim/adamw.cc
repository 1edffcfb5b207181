#include "framework/optim/adamw.h"

#include <cmath>

namespace tidemark::optim {

void AdamW::write_hyper(int64_t step, double lr, std::span<float> hyper) const {
  const auto t = static_cast<double>(step + 1);
  hyper[0] = static_cast<float>(lr);
  hyper[1] = static_cast<float>(1.0 / (1.0 - std::pow(options().beta1, t)));
  hyper[2] = static_cast<float>(1.0 / (1.0 - std::pow(options().beta2, t)));
  hyper[3] = 0.0F;
}

void AdamW::append_update(Builder& builder, const ParameterGradient& what, ValueId hyper,
                          ValueId gradient_scale) const {
  const Value parameter = builder.graph().value(what.parameter);
  const auto moment = [&](const char* name) {
    return builder.external(parameter.name + "/" + name, parameter.type, Category::optimizer, Scope::run);
  };
  builder.node("adamw_update", parameter.name + "/update",
               {what.parameter, what.gradient, moment("adam_m"), moment("adam_v"), hyper, gradient_scale},
               {{"beta1", options().beta1},
                {"beta2", options().beta2},
                {"eps", options().eps},
                {"weight_decay", decay_of(parameter.type)}});
}

}  // namespace tidemark::optim
