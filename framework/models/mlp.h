// Multi-layer perceptron over flattened samples: hidden layers with ReLU, then one linear layer to the classes.
#pragma once

#include "framework/models/model.h"

namespace tidemark::models {

class Mlp : public Model {
 public:
  std::string_view kind() const override { return "mlp"; }
  void fields(config::Fields& fields) override;
  std::vector<std::string> problems(const data::DataInfo& data) const override;
  ModelOutputs build(ModelBuilder& builder, const ModelRequest& request) const override;

 private:
  std::vector<int64_t> hidden_{256, 128};
  double dropout_ = 0.0;
};

}  // namespace tidemark::models
