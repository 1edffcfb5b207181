// What the CPU kernels of batch normalization share: the cut of the rows, and the threads.
#pragma once

#include "base/parallel.h"
#include "ops/batch_norm/batch_norm_shape.h"
#include "ops/batch_norm/group_chunks.h"
#include "ops/kernel.h"
#include "ops/partition.h"

namespace tidemark::ops {

inline const float* floats(const void* p) { return static_cast<const float*>(p); }

// nullptr if absent.
inline const float* optional_floats(const KernelArgs& args, size_t i) {
  return i < args.inputs.size() ? floats(args.inputs[i]) : nullptr;
}

class BatchNormKernel : public Kernel {
 public:
  BatchNormKernel(const BatchNormShape& s, int threads)
      : channels_(s.channels),
        relu_(s.relu),
        chunks_(s.samples, s.spatial, s.channels, s.group),
        threads_(useful_threads(threads, s.samples * s.spatial * s.channels)) {}

  int64_t channels() const { return channels_; }
  bool relu() const { return relu_; }

  // body(chunk, index) for every chunk.
  template <class Body>
  void for_each_chunk(Body body) const {
    parallel_for(threads_, chunks_.chunks(), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(chunks_.chunk(i), i);
    });
  }

 protected:
  // body(group, channel) for all of them.
  template <class Body>
  void for_each_group_channel(Body body) const {
    parallel_for(
        threads_, chunks_.groups() * channels_,
        [&](int64_t begin, int64_t end, int) {
          for (int64_t i = begin; i < end; ++i) body(i / channels_, i % channels_);
        },
        kElementsPerCacheLine);
  }

  // Floats of one value a channel and chunk, each array 64-byte aligned.
  int64_t chunk_floats() const { return (chunks_.chunks() * channels_ + 15) / 16 * 16; }
  int64_t group_floats() const { return (chunks_.groups() * channels_ + 15) / 16 * 16; }

  const int64_t channels_;
  const bool relu_;
  const GroupChunks chunks_;
  const int threads_;
};

}  // namespace tidemark::ops
