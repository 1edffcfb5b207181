// What the ops and kernels of batch normalization read from a call.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// Where the ops take the residual.
inline constexpr size_t kBatchNormResidual = 3, kBatchNormApplyResidual = 5, kBatchNormInferenceResidual = 5;

struct BatchNormShape {
  int64_t samples = 0, spatial = 0, channels = 0;  // x is samples * spatial rows of channels
  int64_t group = 0;
  bool relu = false;
  int64_t groups() const { return (samples + group - 1) / group; }
  Shape statistics() const { return {groups(), channels}; }
};

// Error(config) naming op, operand, wanted and given, if operands or attributes do not fit.
BatchNormShape batch_norm_shape(const OpCall& call);
BatchNormShape batch_norm_statistics_shape(const OpCall& call);
BatchNormShape batch_norm_apply_shape(const OpCall& call);
BatchNormShape batch_norm_grad_shape(const OpCall& call);
BatchNormShape batch_norm_inference_shape(const OpCall& call);  // group = samples
// Returns {groups, channels}.
Shape batch_norm_update_shape(const OpCall& call);

}  // namespace tidemark::ops
