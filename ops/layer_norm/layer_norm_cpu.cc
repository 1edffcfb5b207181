#include "base/parallel.h"
#include "ops/layer_norm/layer_norm_kernels.h"
#include "ops/layer_norm/layer_norm_simd.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class LayerNormCpu : public Kernel {
 public:
  LayerNormCpu(const Shape& x, double eps, int threads)
      : rows_(leading_elements(x)),
        channels_(x.dim(-1)),
        eps_(static_cast<float>(eps)),
        threads_(useful_threads(threads, x.elements())) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    const float* gamma = static_cast<const float*>(args.inputs[1]);
    const float* beta = static_cast<const float*>(args.inputs[2]);
    float* y = static_cast<float*>(args.outputs[0]);
    float* mean = static_cast<float*>(args.outputs[1]);
    float* rstd = static_cast<float*>(args.outputs[2]);
    parallel_for(threads_, rows_, [&](int64_t begin, int64_t end, int) {
      const int64_t at = begin * channels_;
      layer_norm_rows_(end - begin, channels_, eps_, x + at, gamma, beta, y + at, mean + begin, rstd + begin);
    });
  }

 private:
  const int64_t rows_, channels_;
  const float eps_;
  const int threads_;
  decltype(&isa_v2::layer_norm_rows) layer_norm_rows_ = TM_SIMD_CHOICE(layer_norm_rows);
};

// Every part of the rows has its own sums, which are added up in the order of the parts.
class LayerNormGradCpu : public Kernel {
 public:
  LayerNormGradCpu(const Shape& x, int threads)
      : rows_(leading_elements(x)), channels_(x.dim(-1)), threads_(useful_threads(threads, x.elements())) {
    WorkspaceFloats part;
    scratch_ = part.add(2 * channels_);
    dgamma_ = part.add(channels_);
    dbeta_ = part.add(channels_);
    part_bytes_ = part.bytes();
  }

  int64_t workspace_bytes() const override { return threads_ * part_bytes_; }

  void run(const KernelArgs& args) const override {
    const auto input = [&](size_t i) {
      return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr;
    };
    const auto at_row = [&](const float* rows, int64_t row) { return rows ? rows + row * channels_ : nullptr; };
    parallel_for(threads_, rows_, [&](int64_t begin, int64_t end, int part) {
      const LayerNormGradRows rows = {.rows = end - begin,
                                      .channels = channels_,
                                      .dy = at_row(input(0), begin),
                                      .x = at_row(input(1), begin),
                                      .gamma = input(2),
                                      .mean = input(3) + begin,
                                      .rstd = input(4) + begin,
                                      .acc_dx = at_row(input(5), begin),
                                      .dx = static_cast<float*>(args.outputs[0]) + begin * channels_};
      layer_norm_grad_rows_(rows, sums(args, part, scratch_), sums(args, part, dgamma_), sums(args, part, dbeta_));
    });
    combine(args, dgamma_, input(6), static_cast<float*>(args.outputs[1]));
    combine(args, dbeta_, input(7), static_cast<float*>(args.outputs[2]));
  }

 private:
  float* sums(const KernelArgs& args, int part, int64_t offset) const {
    return WorkspaceFloats::at(args.workspace + part * part_bytes_, offset);
  }

  void combine(const KernelArgs& args, int64_t offset, const float* before, float* to) const {
    for (int64_t c = 0; c < channels_; ++c) to[c] = before ? before[c] : 0.0f;
    for (int part = 0; part < threads_; ++part) {
      const PartBounds bounds = part_bounds(rows_, threads_, part);
      if (bounds.begin == bounds.end) continue;
      const float* from = sums(args, part, offset);
      for (int64_t c = 0; c < channels_; ++c) to[c] += from[c];
    }
  }

  const int64_t rows_, channels_;
  const int threads_;
  int64_t scratch_, dgamma_, dbeta_, part_bytes_;
  decltype(&isa_v2::layer_norm_grad_rows) layer_norm_grad_rows_ = TM_SIMD_CHOICE(layer_norm_grad_rows);
};

bool takes(const KernelRequest& request, std::string& why_not) {
  for (const auto& input : request.call.inputs) {
    if (!input || input->dtype == DType::f32) continue;
    why_not = "takes f32 only";
    return false;
  }
  return true;
}

}  // namespace

std::unique_ptr<Kernel> make_layer_norm_cpu(const KernelRequest& request, std::string& why_not) {
  if (!takes(request, why_not)) return nullptr;
  return std::make_unique<LayerNormCpu>(request.call.input(0).shape, request.call.attributes.real("eps"),
                                        request.threads);
}

std::unique_ptr<Kernel> make_layer_norm_grad_cpu(const KernelRequest& request, std::string& why_not) {
  if (!takes(request, why_not)) return nullptr;
  return std::make_unique<LayerNormGradCpu>(request.call.input(1).shape, request.threads);
}

}  // namespace tidemark::ops
