// Note [One pass over the vocabulary]
// Logits for rows x vocabulary are the largest array of a language model, so they stand for one chunk of samples only.
// A chunk takes two sweeps over the vocabulary, cut into blocks of rows that fit the second-level cache and shared out
// to the threads in fixed parts:
//   1. logits of the block, and the running maximum and sum of exponentials of every sample;
//      between the sweeps the parts' sums are combined in order: log-sum-exp, loss;
//   2. the block's logits become (softmax - one-hot) * loss_weight in place; from them the block's rows of dw, which
//      no other part touches, and a contribution to dx, for which every part has an array of its own. These are added
//      in order.
// Nothing is computed twice, every weight row is read twice a chunk, and a block's products run while it is in
// cache. Without gradients a part keeps only the logits of the block in hand. Results hang on the thread count (order
// of the sums over the vocabulary) and on the chunk (order of the sums in dw), never on addresses or budget.
//
// The products are our own (ops/simd/tile_product.h) and not oneDNN's: its matmul reached two thirds of the speed for
// dx and for the accumulating dw (oneDNN 2.6.3, Zen 5), and dnnl_sgemm, as fast as ours, allocates megabytes in every
// call.
#include "ops/linear_cross_entropy/linear_cross_entropy_cpu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/linear_cross_entropy/vocabulary_block.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t round_up(int64_t a, int64_t b) { return divide_up(a, b) * b; }

struct Sizes {
  int64_t samples, channels, vocabulary, classes;
  int64_t chunk;       // samples at once
  int64_t stride;      // of a row of logits
  int64_t block_rows;  // vocabulary rows at once
  int parts;           // threads that have a block at all
};

// Blocks of at most 120 rows (a multiple of every tile height), in equal numbers for all threads.
int64_t block_rows(int64_t classes, int threads) {
  constexpr int64_t kMost = 120, kMultiple = 12;
  const int64_t blocks = round_up(divide_up(classes, kMost), threads);
  return std::clamp(round_up(divide_up(classes, blocks), kMultiple), kMultiple, kMost);
}

Sizes sizes_of(const KernelRequest& request) {
  const Shape& weight = request.call.input(1).shape;
  Sizes s{.samples = request.call.input(2).shape.elements(), .channels = weight[1], .vocabulary = weight[0]};
  s.classes = request.call.attributes.integer_or("classes", s.vocabulary);
  const int64_t limit = request.call.attributes.integer_or("chunk_rows", default_chunk_rows(s.vocabulary));
  const int64_t chunks = std::max<int64_t>(1, divide_up(s.samples, limit));
  s.chunk = divide_up(s.samples, chunks);
  s.stride = round_up(s.chunk, kSamplePadding);
  s.block_rows = block_rows(s.classes, request.threads);
  s.parts = static_cast<int>(std::min<int64_t>(request.threads, divide_up(s.classes, s.block_rows)));
  return s;
}

// Offsets of the workspace's arrays, in floats.
struct Layout {
  WorkspaceFloats book;
  int64_t packed_x, logits, maximum, sum, target_logit, log_sum, scale, panels = 0, partial_dx = 0;

  Layout(const Sizes& s, bool gradient) {
    packed_x = book.add(s.stride * round_up(s.channels, kSamplePadding));
    logits = book.add((gradient ? s.classes : s.parts * s.block_rows) * s.stride);
    maximum = book.add(s.parts * s.stride);
    sum = book.add(s.parts * s.stride);
    target_logit = book.add(s.stride);
    log_sum = book.add(s.stride);
    scale = book.add(s.stride);
    if (!gradient) return;
    panels = book.add(s.parts * s.block_rows * kSamplePadding);
    partial_dx = book.add((s.parts - 1) * s.chunk * s.channels);
  }
};

const float* input_of(const KernelArgs& args, size_t i) {
  return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr;
}

// One chunk's operands.
struct Chunk {
  int64_t samples;
  const float* x;
  const int32_t* targets;
  float* dx;
  float* dw;
  bool accumulate_dw;
};

class LinearCrossEntropyCpu : public Kernel {
 public:
  LinearCrossEntropyCpu(const Sizes& sizes, bool gradient)
      : sizes_(sizes), gradient_(gradient), layout_(sizes, gradient) {}

  int64_t workspace_bytes() const override { return layout_.book.bytes(); }

  void run(const KernelArgs& args) const override {
    const Sizes& s = sizes_;
    const Run run{*this, static_cast<const float*>(args.inputs[1]), *static_cast<const float*>(args.inputs[3]),
                  args.workspace};
    const bool accumulates = gradient_ && input_of(args, kLinearCrossEntropyGradWeightSum) != nullptr;
    const float* loss_before =
        input_of(args, gradient_ ? kLinearCrossEntropyGradLossBefore : kLinearCrossEntropyLossBefore);
    double loss = 0;
    for (int64_t begin = 0; begin < s.samples; begin += s.chunk) {
      Chunk chunk{.samples = std::min(s.chunk, s.samples - begin),
                  .x = static_cast<const float*>(args.inputs[0]) + begin * s.channels,
                  .targets = static_cast<const int32_t*>(args.inputs[2]) + begin};
      if (gradient_) {
        chunk.dx = static_cast<float*>(args.outputs[1]) + begin * s.channels;
        chunk.dw = static_cast<float*>(args.outputs[2]);
        chunk.accumulate_dw = accumulates || begin > 0;
      }
      loss += run.chunk(chunk);
    }
    *static_cast<float*>(args.outputs[0]) =
        (loss_before ? *loss_before : 0.0F) + static_cast<float>(loss * run.loss_weight);
  }

 private:
  // What one call of run() works on.
  struct Run {
    const LinearCrossEntropyCpu& kernel;
    const float* weight;
    float loss_weight;
    std::byte* workspace;

    const Sizes& sizes() const { return kernel.sizes_; }
    float* array(int64_t offset) const { return WorkspaceFloats::at(workspace, offset); }

    double chunk(const Chunk& c) const;
    void sum_exponentials(const Chunk& c) const;
    double finish_softmax(const Chunk& c) const;
    void gradients(const Chunk& c) const;
    void combine_dx(const Chunk& c) const;
    void clear_padded_rows(const Chunk& c) const;
    void pack(const Chunk& c, bool transposed) const;
    VocabularyBlock block(const Chunk& c, int64_t begin, int64_t end, int part) const;
  };

  const Sizes sizes_;
  const bool gradient_;
  const Layout layout_;
  const VocabularyKernels& kernels_ =
      *simd_choice(&isa_v2::kVocabularyKernels, &isa_v3::kVocabularyKernels, &isa_v4::kVocabularyKernels);
};

// The sum of the chunk's negative log-likelihoods.
double LinearCrossEntropyCpu::Run::chunk(const Chunk& c) const {
  pack(c, true);
  sum_exponentials(c);
  const double loss = finish_softmax(c);
  if (kernel.gradient_) {
    pack(c, false);  // before dx, which may lie on x
    gradients(c);
    combine_dx(c);
    if (!c.accumulate_dw) clear_padded_rows(c);
  }
  return loss;
}

void LinearCrossEntropyCpu::Run::pack(const Chunk& c, bool transposed) const {
  const VocabularyKernels& k = kernel.kernels_;
  const auto pack_panels = transposed ? k.pack_transposed : k.pack;
  float* packed = array(kernel.layout_.packed_x);
  const int64_t panels = divide_up(transposed ? sizes().stride : sizes().channels, k.panel_columns);
  parallel_for(sizes().parts, panels, [&](int64_t begin, int64_t end, int) {
    pack_panels(c.x, c.samples, sizes().channels, begin, end, packed);
  });
}

VocabularyBlock LinearCrossEntropyCpu::Run::block(const Chunk& c, int64_t begin, int64_t end, int part) const {
  const Sizes& s = sizes();
  const int64_t first_logits = kernel.gradient_ ? begin : part * s.block_rows;
  return {.rows = std::min(s.block_rows, end - begin),
          .samples = c.samples,
          .stride = s.stride,
          .channels = s.channels,
          .weight = weight + begin * s.channels,
          .logits = array(kernel.layout_.logits) + first_logits * s.stride};
}

// Calls visit(sample, logit of its target) for the samples whose target lies in the block.
template <class Visit>
void for_each_target(const Chunk& c, const VocabularyBlock& block, int64_t first_row, Visit visit) {
  for (int64_t i = 0; i < c.samples; ++i) {
    const int64_t row = c.targets[i] - first_row;
    if (row >= 0 && row < block.rows) visit(i, block.logits[row * block.stride + i]);
  }
}

void LinearCrossEntropyCpu::Run::sum_exponentials(const Chunk& c) const {
  const Sizes& s = sizes();
  const Layout& l = kernel.layout_;
  float* target_logit = array(l.target_logit);
  std::fill_n(target_logit, s.stride, std::numeric_limits<float>::quiet_NaN());
  parallel_for(
      s.parts, s.classes,
      [&](int64_t begin, int64_t end, int part) {
        const SoftmaxSums sums{array(l.maximum) + part * s.stride, array(l.sum) + part * s.stride};
        std::fill_n(sums.maximum, s.stride, -std::numeric_limits<float>::infinity());
        std::fill_n(sums.sum, s.stride, 0.0f);
        for (int64_t row = begin; row < end; row += s.block_rows) {
          const VocabularyBlock b = block(c, row, end, part);
          kernel.kernels_.logits(b, array(l.packed_x));
          for_each_target(c, b, row, [&](int64_t i, float logit) { target_logit[i] = logit; });
          kernel.kernels_.add_to_softmax(b, sums);
        }
      },
      s.block_rows);
}

double LinearCrossEntropyCpu::Run::finish_softmax(const Chunk& c) const {
  const Sizes& s = sizes();
  const Layout& l = kernel.layout_;
  const float *maximum = array(l.maximum), *sum = array(l.sum), *target_logit = array(l.target_logit);
  float *log_sum = array(l.log_sum), *scale = array(l.scale);
  double loss = 0;
  for (int64_t i = 0; i < s.stride; ++i) {
    float most = maximum[i];
    for (int part = 1; part < s.parts; ++part) most = std::max(most, maximum[part * s.stride + i]);
    double total = 0;
    for (int part = 0; part < s.parts; ++part) {
      total += static_cast<double>(sum[part * s.stride + i]) *
               std::exp(static_cast<double>(maximum[part * s.stride + i]) - most);
    }
    const double log_total = most + std::log(total);
    const bool counts = i < c.samples && c.targets[i] >= 0;
    if (counts) loss += log_total - target_logit[i];
    log_sum[i] = static_cast<float>(log_total);
    scale[i] = counts ? loss_weight : 0.0f;
  }
  return loss;
}

void LinearCrossEntropyCpu::Run::gradients(const Chunk& c) const {
  const Sizes& s = sizes();
  const Layout& l = kernel.layout_;
  const float *log_sum = array(l.log_sum), *scale = array(l.scale);
  parallel_for(
      s.parts, s.classes,
      [&](int64_t begin, int64_t end, int part) {
        float* panel = array(l.panels) + part * s.block_rows * kSamplePadding;
        float* dx = part == 0 ? c.dx : array(l.partial_dx) + (part - 1) * s.chunk * s.channels;
        for (int64_t row = begin; row < end; row += s.block_rows) {
          const VocabularyBlock b = block(c, row, end, part);
          kernel.kernels_.probabilities(b, log_sum, scale);
          for_each_target(c, b, row, [&](int64_t i, float& gradient) { gradient -= scale[i]; });
          kernel.kernels_.input_gradient(b, panel, dx, row > begin);
          kernel.kernels_.weight_gradient(b, array(l.packed_x), c.dw + row * s.channels, c.accumulate_dw);
        }
      },
      s.block_rows);
}

void LinearCrossEntropyCpu::Run::combine_dx(const Chunk& c) const {
  const Sizes& s = sizes();
  const float* partial = array(kernel.layout_.partial_dx);
  parallel_for(s.parts, c.samples * s.channels, [&](int64_t begin, int64_t end, int) {
    for (int part = 1; part < s.parts; ++part) {
      const float* from = partial + (part - 1) * s.chunk * s.channels;
      for (int64_t i = begin; i < end; ++i) c.dx[i] += from[i];
    }
  });
}

void LinearCrossEntropyCpu::Run::clear_padded_rows(const Chunk& c) const {
  const Sizes& s = sizes();
  std::fill(c.dw + s.classes * s.channels, c.dw + s.vocabulary * s.channels, 0.0f);
}

std::unique_ptr<Kernel> make(const KernelRequest& request, bool gradient, std::string& why_not) {
  if (request.call.input(0).dtype != DType::f32) {
    why_not = "takes f32 only";
    return nullptr;
  }
  return std::make_unique<LinearCrossEntropyCpu>(sizes_of(request), gradient);
}

}  // namespace

std::unique_ptr<Kernel> make_linear_cross_entropy_cpu(const KernelRequest& request, std::string& why_not) {
  return make(request, false, why_not);
}

std::unique_ptr<Kernel> make_linear_cross_entropy_grad_cpu(const KernelRequest& request, std::string& why_not) {
  return make(request, true, why_not);
}

}  // namespace tidemark::ops
