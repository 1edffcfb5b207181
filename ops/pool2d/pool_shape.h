// What the ops and kernels of pooling read from a call.
#pragma once

#include "ops/op_definition.h"
#include "ops/pool2d/pool2d_simd.h"

namespace tidemark::ops {

// Error(config) naming op, operand or attribute, wanted and given, if something does not fit.
MaxPoolSizes max_pool2d_sizes(const OpCall& call);       // x
MaxPoolSizes max_pool2d_grad_sizes(const OpCall& call);  // dy, indices  {x_shape}

Shape x_shape(const MaxPoolSizes& sizes);
Shape y_shape(const MaxPoolSizes& sizes);

struct GlobalPoolSizes {
  int64_t batch = 0, spatial = 0, channels = 0;
};
GlobalPoolSizes global_avg_pool2d_sizes(const OpCall& call);       // x
GlobalPoolSizes global_avg_pool2d_grad_sizes(const OpCall& call);  // dy  {x_shape}

}  // namespace tidemark::ops
