// A generated training step for the recompute benchmark: deep, and as long as is asked for.
#pragma once

#include <cstdint>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct TransformerShape {
  int64_t sequences = 8;
  int64_t tokens = 1024;  // of a sequence
  int64_t width = 1024;
  int64_t heads = 16;
};

// The forward pass of a Transformer with stored attention scores and its backward pass in reverse order, with a sum
// wherever a value is used twice: about 40 steps a layer, as many layers as come to about `steps` steps. Costs are
// FLOPs, or bytes moved where those are more; weights are not part of it, and their gradients are consumed where they
// are made.
StepTrace transformer_step(int64_t steps, const TransformerShape& shape = {});

}  // namespace tidemark::memory
