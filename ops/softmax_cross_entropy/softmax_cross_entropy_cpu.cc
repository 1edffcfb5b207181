#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy_kernels.h"

namespace tidemark::ops {
namespace {

struct Sizes {
  explicit Sizes(const OpCall& call)
      : classes(call.input(0).shape.dim(-1)), rows(leading_elements(call.input(0).shape)) {}
  int64_t classes, rows;
};

// Of one row. exp(x - largest) cannot overflow, and at least one term is 1.
double sum_of_exponentials(const float* logits, int64_t classes, float largest) {
  double sum = 0;
  for (int64_t k = 0; k < classes; ++k) sum += std::exp(logits[k] - largest);
  return sum;
}

class SoftmaxCrossEntropyCpu : public Kernel {
 public:
  SoftmaxCrossEntropyCpu(const OpCall& call, int threads)
      : sizes_(call),
        blocks_((sizes_.rows + kBlockRows - 1) / kBlockRows),
        threads_(useful_threads(threads, sizes_.rows * sizes_.classes, 2048)),
        has_loss_before_(call.has(3)) {}

  int64_t workspace_bytes() const override { return blocks_ * static_cast<int64_t>(sizeof(Partial)); }

  void run(const KernelArgs& args) const override {
    const float* logits = static_cast<const float*>(args.inputs[0]);
    const int32_t* labels = static_cast<const int32_t*>(args.inputs[1]);
    Partial* partials = reinterpret_cast<Partial*>(args.workspace);
    parallel_for(threads_, blocks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) partials[block] = sum_block(logits, labels, block);
    });
    Partial sum;
    for (int64_t block = 0; block < blocks_; ++block) {
      sum.loss += partials[block].loss;
      sum.correct += partials[block].correct;
    }
    const double loss_weight = *static_cast<const float*>(args.inputs[2]);
    const float loss_before = has_loss_before_ ? *static_cast<const float*>(args.inputs[3]) : 0.0F;
    *static_cast<float*>(args.outputs[0]) = loss_before + static_cast<float>(loss_weight * sum.loss);
    *static_cast<float*>(args.outputs[1]) = static_cast<float>(sum.correct);
  }

 private:
  // Blocks hang on the shape alone, so that sums do not change with the thread count.
  static constexpr int64_t kBlockRows = 64;

  struct Partial {
    double loss = 0;
    int64_t correct = 0;
  };

  Partial sum_block(const float* logits, const int32_t* labels, int64_t block) const {
    Partial partial;
    const int64_t end = std::min((block + 1) * kBlockRows, sizes_.rows);
    for (int64_t row = block * kBlockRows; row < end; ++row) {
      if (labels[row] >= 0) add_row(logits + row * sizes_.classes, labels[row], partial);
    }
    return partial;
  }

  void add_row(const float* logits, int32_t label, Partial& partial) const {
    const float* largest = std::max_element(logits, logits + sizes_.classes);
    const double sum = sum_of_exponentials(logits, sizes_.classes, *largest);
    partial.loss += std::log(sum) - (double{logits[label]} - *largest);
    partial.correct += largest - logits == label;
  }

  const Sizes sizes_;
  const int64_t blocks_;
  const int threads_;
  const bool has_loss_before_;
};

class SoftmaxCrossEntropyGradCpu : public Kernel {
 public:
  SoftmaxCrossEntropyGradCpu(const OpCall& call, int threads)
      : sizes_(call), threads_(useful_threads(threads, sizes_.rows * sizes_.classes, 2048)) {}

  void run(const KernelArgs& args) const override {
    const float* logits = static_cast<const float*>(args.inputs[0]);
    const int32_t* labels = static_cast<const int32_t*>(args.inputs[1]);
    const float loss_weight = *static_cast<const float*>(args.inputs[2]);
    float* out = static_cast<float*>(args.outputs[0]);
    parallel_for(threads_, sizes_.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t offset = row * sizes_.classes;
        write_row(logits + offset, labels[row], loss_weight, out + offset);
      }
    });
  }

 private:
  // out may be logits: each is read for the last time just before it is written.
  void write_row(const float* logits, int32_t label, float loss_weight, float* out) const {
    if (label < 0) {
      std::fill(out, out + sizes_.classes, 0.0f);
      return;
    }
    const float largest = *std::max_element(logits, logits + sizes_.classes);
    const double scale = loss_weight / sum_of_exponentials(logits, sizes_.classes, largest);
    for (int64_t k = 0; k < sizes_.classes; ++k) {
      const double probability = scale * std::exp(logits[k] - largest);
      out[k] = static_cast<float>(probability - (k == label ? loss_weight : 0.0f));
    }
  }

  const Sizes sizes_;
  const int threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_softmax_cross_entropy_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<SoftmaxCrossEntropyCpu>(request.call, request.threads);
}

std::unique_ptr<Kernel> make_softmax_cross_entropy_grad_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<SoftmaxCrossEntropyGradCpu>(request.call, request.threads);
}

}  // namespace tidemark::ops
