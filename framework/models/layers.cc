#include "framework/models/layers.h"

#include <cmath>
#include <optional>

namespace tidemark::models {
namespace {

constexpr double kNormEps = 1e-5;
constexpr double kNormMomentum = 0.1;

Initializer normal(double stddev) { return {Initializer::Kind::normal, stddev}; }
Initializer constant(double value) { return {Initializer::Kind::constant, value}; }

struct NormParameters {
  ValueId scale, shift, mean, variance, counter;
};

NormParameters norm_parameters(ModelBuilder& builder, int64_t channels) {
  const ValueType statistics{DType::f32, Shape{channels}};
  return {builder.weight("weight", Shape{channels}, constant(1)), builder.weight("bias", Shape{channels}, constant(0)),
          builder.statistic("running_mean", statistics, constant(0)),
          builder.statistic("running_var", statistics, constant(1)),
          builder.statistic("batches", {DType::i32, Shape{1}}, constant(0))};
}

ValueId batch_norm(ModelBuilder& builder, const std::string& name, ValueId x, const NormParameters& p,
                   const NormOptions& norm, const ModelRequest& request) {
  const Shape shape = builder.type(x).shape;
  const std::string output = norm.output.empty() ? name + "/normalise" : norm.output;
  std::vector<ValueId> inputs = {x, p.scale, p.shift};
  if (!request.training) inputs.insert(inputs.end(), {p.mean, p.variance});
  if (norm.residual.valid()) inputs.push_back(norm.residual);
  Attributes attributes = {{"eps", kNormEps}, {"relu", norm.relu}};
  if (!request.training) return builder.op("batch_norm_inference", output, inputs, attributes);
  attributes.set("group", request.norm_batch);
  const auto outputs = builder.node("batch_norm", output, inputs, attributes);
  const int64_t positions = shape[1] * shape[2];
  const int64_t in_last_group = shape[0] % request.norm_batch == 0 ? request.norm_batch : shape[0] % request.norm_batch;
  builder.node("batch_norm_update_statistics", name + "/statistics",
               {outputs[1], outputs[2], p.mean, p.variance, p.counter},
               {{"eps", kNormEps},
                {"momentum", kNormMomentum},
                {"count", request.norm_batch * positions},
                {"last_count", in_last_group * positions}});
  return outputs[0];
}

}  // namespace

ValueId linear(ModelBuilder& builder, std::string_view name, ValueId x, const LinearOptions& options) {
  auto scope = builder.scope(name);
  const Shape shape = options.transposed ? Shape{options.out, options.in} : Shape{options.in, options.out};
  const ValueId weight = builder.weight("weight", shape, normal(options.stddev));
  const ValueId bias = builder.weight("bias", Shape{options.out}, constant(0));
  return builder.op("matmul", "product", {x, weight, bias},
                    {{"transpose_w", options.transposed}, {"activation", options.activation}});
}

ValueId conv_norm(ModelBuilder& builder, std::string_view name, ValueId x, const ConvOptions& options,
                  const NormOptions& norm, const ModelRequest& request) {
  std::optional<ModelBuilder::Prefix> scope(std::in_place, builder, name);
  const int64_t fan_in = options.in * options.kernel * options.kernel;
  const ValueId filter = builder.weight("filter", Shape{options.out, options.in, options.kernel, options.kernel},
                                        normal(std::sqrt(2.0 / static_cast<double>(fan_in))));
  const ValueId y =
      builder.op("conv2d", "conv", {x, filter, ValueId()}, {{"stride", options.stride}, {"pad", options.kernel / 2}});
  const NormParameters parameters = norm_parameters(builder, options.out);
  scope.reset();  // the result may have a name of its own
  return batch_norm(builder, std::string(name), y, parameters, norm, request);
}

ValueId layer_norm(ModelBuilder& builder, std::string_view name, ValueId x) {
  auto scope = builder.scope(name);
  const int64_t width = builder.type(x).shape.dim(-1);
  const ValueId scale = builder.weight("weight", Shape{width}, constant(1));
  const ValueId shift = builder.weight("bias", Shape{width}, constant(0));
  return builder.op("layer_norm", "normalise", {x, scale, shift}, {{"eps", kNormEps}});
}

DropoutSites DropoutSites::of_rows(ModelBuilder& builder, const ModelRequest& request, double p, ValueId lengths) {
  DropoutSites sites(request, p);
  if (p > 0.0 && request.training)
    sites.ids_ = builder.op("packed_row_ids", "row_ids", {request.sample_ids, lengths}, {{"rows", request.rows}});
  return sites;
}

ValueId DropoutSites::apply(ModelBuilder& builder, ValueId x) {
  const int64_t site = next_++;
  if (p_ == 0.0 || !request_.training) return x;
  return builder.op("dropout", "dropout", {x, ids_, request_.step_state},
                    {{"p", p_}, {"seed", static_cast<int64_t>(request_.seed)}, {"op_index", site}});
}

ModelOutputs classification_loss(ModelBuilder& builder, ValueId logits, const ModelRequest& request) {
  const auto outputs = builder.node("softmax_cross_entropy", "loss",
                                    {logits, request.inputs.at(1), request.loss_weight, request.loss_before});
  return {outputs[0], outputs[1]};
}

std::vector<std::string> image_problems(std::string_view model, const data::DataInfo& data) {
  if (data.fields.size() == 2 && data.fields[0].name == "images" && data.classes >= 2) return {};
  return {"model.kind " + std::string(model) + " needs labelled images, not data kind '" + data.kind + "'"};
}

}  // namespace tidemark::models
