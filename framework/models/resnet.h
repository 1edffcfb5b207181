// Residual convolutional net for small images: a 3x3 stem, stages of basic blocks, global average pooling, one linear
// layer. He et al., "Deep Residual Learning for Image Recognition", CVPR 2016, section 4.2.
#pragma once

#include "framework/models/model.h"

namespace tidemark::models {

class ResNet : public Model {
 public:
  std::string_view kind() const override { return "resnet"; }
  void fields(config::Fields& fields) override;
  std::vector<std::string> problems(const data::DataInfo& data) const override;
  ModelOutputs build(ModelBuilder& builder, const ModelRequest& request) const override;
  bool has_batch_norm() const override { return true; }

 private:
  int64_t width_ = 16;
  std::vector<int64_t> blocks_{2, 2, 2};
};

}  // namespace tidemark::models
