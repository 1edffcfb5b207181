// Layers that several models share: parameters with their initial values, and the nodes that use them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/models/model.h"

namespace tidemark::models {

struct LinearOptions {
  int64_t in = 0;
  int64_t out = 0;
  std::string activation = "none";  // none | relu | gelu
  double stddev = 0.02;             // of the initial weights
  bool transposed = true;           // weight kept as [out, in]; false: [in, out]
};

// y = activation(x W + b), parameters NAME/weight and NAME/bias (initially 0).
ValueId linear(ModelBuilder& builder, std::string_view name, ValueId x, const LinearOptions& options);

struct ConvOptions {
  int64_t in = 0;  // channels
  int64_t out = 0;
  int64_t kernel = 3;
  int64_t stride = 1;
};

struct NormOptions {
  bool relu = false;
  ValueId residual;    // added before the ReLU; invalid: nothing
  std::string output;  // name of the result beside NAME; empty: NAME/normalise
};

// Convolution without bias (batch norm follows), padding kernel / 2, He-normal initial weights, then batch norm over
// groups of request.norm_batch samples, with what NormOptions asks for in the same node.
ValueId conv_norm(ModelBuilder& builder, std::string_view name, ValueId x, const ConvOptions& options,
                  const NormOptions& norm, const ModelRequest& request);

// y = scale * normalised(x) + shift over the last dimension, parameters NAME/weight (1) and NAME/bias (0).
ValueId layer_norm(ModelBuilder& builder, std::string_view name, ValueId x);

// Numbers the dropout nodes of a model, so that each draws its own mask. No node where p is 0 or in evaluation.
class DropoutSites {
 public:
  DropoutSites(const ModelRequest& request, double p) : request_(request), ids_(request.sample_ids), p_(p) {}
  // For values [rows, ..] of packed samples with these lengths: the draws of a row hang on its sample and step.
  static DropoutSites of_rows(ModelBuilder& builder, const ModelRequest& request, double p, ValueId lengths);
  ValueId apply(ModelBuilder& builder, ValueId x);

 private:
  const ModelRequest& request_;
  ValueId ids_;  // of what draws as one
  double p_;
  int64_t next_ = 0;
};

// Softmax cross entropy over logits [batch, classes] against request.inputs[1].
ModelOutputs classification_loss(ModelBuilder& builder, ValueId logits, const ModelRequest& request);

// What an image classifier needs: fields images (f32[H,W,C]) and labels (i32[1]), at least two classes.
std::vector<std::string> image_problems(std::string_view model, const data::DataInfo& data);

}  // namespace tidemark::models
