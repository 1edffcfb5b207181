#include "framework/models/mlp.h"

#include <cmath>

#include "framework/models/layers.h"

namespace tidemark::models {

void Mlp::fields(config::Fields& fields) {
  fields.integers("hidden", hidden_, "Widths of the hidden layers.", {.min = 1, .max = 1 << 20});
  fields.real("dropout", dropout_, "Share of hidden activations dropped in training.",
              {.min = 0, .max = 1, .max_open = true});
}

std::vector<std::string> Mlp::problems(const data::DataInfo& data) const { return image_problems("mlp", data); }

ModelOutputs Mlp::build(ModelBuilder& builder, const ModelRequest& request) const {
  ValueId x = request.inputs.at(0);
  int64_t width = request.data.fields.at(0).sample.shape.elements();
  DropoutSites dropout(request, dropout_);
  for (size_t i = 0; i < hidden_.size(); ++i) {
    auto scope = builder.scope("layer" + std::to_string(i));
    x = linear(
        builder, "linear", x,
        {.in = width, .out = hidden_[i], .activation = "relu", .stddev = std::sqrt(2.0 / static_cast<double>(width))});
    x = dropout.apply(builder, x);
    width = hidden_[i];
  }
  x = linear(builder, "head", x,
             {.in = width, .out = request.data.classes, .stddev = std::sqrt(1.0 / static_cast<double>(width))});
  return classification_loss(builder, x, request);
}

}  // namespace tidemark::models
