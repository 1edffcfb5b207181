// The arithmetic of linear cross entropy on one block of vocabulary rows and one chunk of samples, for every CPU level.
//
// Logits are kept transposed, [vocabulary row][sample]: all three products then read both operands along their rows,
// and the softmax over the vocabulary runs down the columns, one sample a lane. Note [One pass over the vocabulary] in
// linear_cross_entropy_cpu.cc tells how the blocks make up the op.
#pragma once

#include <cstdint>

namespace tidemark::ops {

// Samples and vocabulary rows come in any number; buffers are padded to these (floats).
inline constexpr int64_t kSamplePadding = 64;  // the widest panel of any level, and a multiple of every panel's

struct VocabularyBlock {
  int64_t rows = 0;     // vocabulary rows in this block
  int64_t samples = 0;  // in the chunk
  int64_t stride = 0;   // of a row of logits: samples rounded up to kSamplePadding
  int64_t channels = 0;
  const float* weight = nullptr;  // [rows][channels]
  float* logits = nullptr;        // [rows][stride]; columns beyond `samples` hold finite values of no meaning
};

// Running softmax sums of the samples, each [stride].
struct SoftmaxSums {
  float* maximum;  // begin: -infinity
  float* sum;      // of exp(logit - maximum); begin: 0
};

struct VocabularyKernels {
  // Columns of a panel, at most kSamplePadding.
  int64_t panel_columns;
  // x [samples][channels] to panels, of which these calls write [begin, end); panels beyond the last hold nothing.
  // Transposed: panels of samples, each [channels][panel_columns]; else panels of channels, each
  // [samples][panel_columns].
  void (*pack_transposed)(const float* x, int64_t samples, int64_t channels, int64_t begin, int64_t end, float* packed);
  void (*pack)(const float* x, int64_t samples, int64_t channels, int64_t begin, int64_t end, float* packed);

  // logits = weight · x^T, with x from pack_transposed.
  void (*logits)(const VocabularyBlock& block, const float* x_transposed);
  void (*add_to_softmax)(const VocabularyBlock& block, SoftmaxSums sums);
  // logits := exp(logits - log_sum[sample]) * scale[sample]: probabilities times the loss weight (0: sample ignored).
  void (*probabilities)(const VocabularyBlock& block, const float* log_sum, const float* scale);
  // dx [samples][channels] (+)= logits^T · weight; panel: scratch of rows * kSamplePadding floats.
  void (*input_gradient)(const VocabularyBlock& block, float* panel, float* dx, bool accumulate);
  // dweight [rows][channels] (+)= logits · x, with x from pack().
  void (*weight_gradient)(const VocabularyBlock& block, const float* x_packed, float* dweight, bool accumulate);
};

}  // namespace tidemark::ops

namespace tidemark::isa_v2 {
extern const ops::VocabularyKernels kVocabularyKernels;
}
namespace tidemark::isa_v3 {
extern const ops::VocabularyKernels kVocabularyKernels;
}
namespace tidemark::isa_v4 {
extern const ops::VocabularyKernels kVocabularyKernels;
}
