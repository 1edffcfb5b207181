#include "framework/models/resnet.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "framework/models/layers.h"

namespace tidemark::models {
namespace {

ValueId basic_block(ModelBuilder& builder, ValueId x, int64_t out, int64_t stride, const ModelRequest& request) {
  const int64_t in = builder.type(x).shape.dim(-1);
  const ValueId h = conv_norm(builder, "conv1", x, {.in = in, .out = out, .stride = stride}, {.relu = true}, request);
  if (in != out || stride != 1)
    x = conv_norm(builder, "shortcut", x, {.in = in, .out = out, .kernel = 1, .stride = stride}, {}, request);
  return conv_norm(builder, "conv2", h, {.in = out, .out = out}, {.relu = true, .residual = x, .output = "out"},
                   request);
}

}  // namespace

void ResNet::fields(config::Fields& fields) {
  fields.integer("width", width_, "Channels of the first stage; each later stage has twice as many.",
                 {.min = 1, .max = 4096});
  fields.integers("blocks", blocks_, "Basic blocks of each stage; every stage but the first halves the image.",
                  {.min = 1, .max = 1000});
}

std::vector<std::string> ResNet::problems(const data::DataInfo& data) const {
  auto problems = image_problems("resnet", data);
  if (blocks_.empty()) problems.push_back("model.blocks is empty; a residual net has at least one stage");
  if (!problems.empty() || data.fields[0].sample.shape.rank() != 3) return problems;
  const int64_t side = std::min(data.fields[0].sample.shape[0], data.fields[0].sample.shape[1]);
  if (blocks_.size() > static_cast<size_t>(std::bit_width(static_cast<uint64_t>(side))))  // each stage but one halves
    problems.push_back("model.blocks has " + std::to_string(blocks_.size()) + " stages, too many for images of side " +
                       std::to_string(side));
  return problems;
}

ModelOutputs ResNet::build(ModelBuilder& builder, const ModelRequest& request) const {
  const Shape image = request.data.fields.at(0).sample.shape;
  ValueId x =
      conv_norm(builder, "stem", request.inputs.at(0), {.in = image.dim(-1), .out = width_}, {.relu = true}, request);
  int64_t channels = width_;
  for (size_t stage = 0; stage < blocks_.size(); ++stage) {
    channels = width_ << stage;
    for (int64_t block = 0; block < blocks_[stage]; ++block) {
      auto scope = builder.scope("stage" + std::to_string(stage) + "/block" + std::to_string(block));
      x = basic_block(builder, x, channels, stage > 0 && block == 0 ? 2 : 1, request);
    }
  }
  x = builder.op("global_avg_pool2d", "pool", {x});
  x = linear(builder, "head", x,
             {.in = channels, .out = request.data.classes, .stddev = std::sqrt(1.0 / static_cast<double>(channels))});
  return classification_loss(builder, x, request);
}

}  // namespace tidemark::models
