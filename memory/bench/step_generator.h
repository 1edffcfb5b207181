// Generated traces: a large training step for the benchmark, and packings whose least peak is known by construction.
#pragma once

#include <cstdint>

#include "memory/trace/trace.h"

namespace tidemark::memory {

struct StepOptions {
  uint64_t seed = 1;
  int64_t buffers = 60'000;  // about
  int ops_per_block = 12;
  int levels = 5;                      // resolutions of the U-Net; each halves the bytes of an activation
  int64_t activation_bytes = 1 << 22;  // at full resolution
  double separable_share = 0.05;       // of the buffers, in an update phase that falls into parts
};

// One step of a deep U-Net that recomputes its blocks: an encoder whose outputs live until the decoder's block of the
// same level has used them and until its own backward pass, a decoder, the backward pass in reverse (recomputed
// activations, gradients), then an update phase of separate parts. Before the update phase no step divides the trace in
// time.
Trace generate_step(const StepOptions& options);

struct PackingOptions {
  uint64_t seed = 1;
  int buffers = 40;
  int64_t steps = 64;
  int64_t peak_bytes = 1000;
};

// A rectangle of steps x peak_bytes cut into about `buffers` pieces, in two or in a spiral of five: every step is full,
// so the least peak is peak_bytes.
Trace generate_perfect_packing(const PackingOptions& options);

}  // namespace tidemark::memory
