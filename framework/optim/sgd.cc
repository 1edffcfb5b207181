#include "framework/optim/sgd.h"

namespace tidemark::optim {

void Sgd::write_hyper(int64_t /*step*/, double lr, std::span<float> hyper) const { hyper[0] = static_cast<float>(lr); }

void Sgd::append_update(Builder& builder, const ParameterGradient& what, ValueId hyper, ValueId gradient_scale) const {
  const Value parameter = builder.graph().value(what.parameter);
  ValueId momentum;  // without momentum there is no state
  if (options().momentum != 0.0)
    momentum = builder.external(parameter.name + "/momentum", parameter.type, Category::optimizer, Scope::run);
  builder.node(
      "sgd_update", parameter.name + "/update", {what.parameter, what.gradient, momentum, hyper, gradient_scale},
      {{"momentum", options().momentum}, {"nesterov", options().nesterov}, {"weight_decay", decay_of(parameter.type)}});
}

}  // namespace tidemark::optim
