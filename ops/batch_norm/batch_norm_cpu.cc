#include <cmath>

#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm/batch_norm_rows.h"
#include "ops/batch_norm/batch_norm_simd.h"
#include "ops/op_rules.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class BatchNormGradCpu : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  int64_t workspace_bytes() const override {
    return 2 * (chunk_floats() + group_floats()) * static_cast<int64_t>(sizeof(float));
  }

  void run(const KernelArgs& args) const override {
    const float *dy = floats(args.inputs[0]), *x = floats(args.inputs[1]);
    float* dx = static_cast<float*>(args.outputs[0]);
    float* chunk_dz = reinterpret_cast<float*>(args.workspace);
    float* chunk_dz_xhat = chunk_dz + chunk_floats();
    float* sum_dz = chunk_dz_xhat + chunk_floats();
    float* sum_dz_xhat = sum_dz + group_floats();

    for_each_chunk([&](const Chunk& chunk, int64_t i) {
      const int64_t at = chunk.first_row * channels_;
      sums_(dy + at, x + at, chunk.rows, channels_, channels_of(args, chunk), relu_, chunk_dz + i * channels_,
            chunk_dz_xhat + i * channels_);
    });
    for_each_group_channel([&](int64_t g, int64_t c) {
      sum_dz[g * channels_ + c] = sum_of_chunks(chunk_dz, g, c);
      sum_dz_xhat[g * channels_ + c] = sum_of_chunks(chunk_dz_xhat, g, c);
    });
    sum_groups(sum_dz_xhat, optional_floats(args, 6), static_cast<float*>(args.outputs[1]));
    sum_groups(sum_dz, optional_floats(args, 7), static_cast<float*>(args.outputs[2]));
    for_each_chunk([&](const Chunk& chunk, int64_t) {
      const int64_t at = chunk.first_row * channels_, group = chunk.group * channels_;
      const float inverse_count = 1.0f / static_cast<float>(chunks_.rows_of_group(chunk.group));
      gradient_(dy + at, x + at, chunk.rows, channels_, channels_of(args, chunk), relu_,
                {sum_dz + group, sum_dz_xhat + group, inverse_count}, dx + at);
    });
  }

 private:
  BatchNormChannels channels_of(const KernelArgs& args, const Chunk& chunk) const {
    const int64_t group = chunk.group * channels_;
    return {.mean = floats(args.inputs[3]) + group,
            .rstd = floats(args.inputs[4]) + group,
            .gamma = floats(args.inputs[2]),
            .beta = optional_floats(args, 5)};
  }

  float sum_of_chunks(const float* chunk_sums, int64_t g, int64_t c) const {
    double sum = 0;
    const int64_t first = chunks_.first_chunk(g);
    for (int64_t i = first; i < first + chunks_.chunks_of_group(g); ++i) sum += chunk_sums[i * channels_ + c];
    return static_cast<float>(sum);
  }

  // Rounded after each group, as SampleRule::group asks. out may be the accumulator itself.
  void sum_groups(const float* group_sums, const float* accumulator, float* out) const {
    for (int64_t c = 0; c < channels_; ++c) {
      float sum = accumulator ? accumulator[c] : 0.0F;
      for (int64_t g = 0; g < chunks_.groups(); ++g) sum += group_sums[g * channels_ + c];
      out[c] = sum;
    }
  }

  decltype(&isa_v2::batch_gradient_sums) sums_ = TM_SIMD_CHOICE(batch_gradient_sums);
  decltype(&isa_v2::batch_gradient) gradient_ = TM_SIMD_CHOICE(batch_gradient);
};

class BatchNormInferenceCpu : public BatchNormKernel {
 public:
  BatchNormInferenceCpu(const BatchNormShape& s, int threads, double eps) : BatchNormKernel(s, threads), eps_(eps) {}

  int64_t workspace_bytes() const override { return channels_ * static_cast<int64_t>(sizeof(float)); }

  void run(const KernelArgs& args) const override {
    const float* x = floats(args.inputs[0]);
    const float* variance = floats(args.inputs[4]);
    const float* residual = optional_floats(args, kBatchNormInferenceResidual);
    float* y = static_cast<float*>(args.outputs[0]);
    float* rstd = reinterpret_cast<float*>(args.workspace);
    for (int64_t c = 0; c < channels_; ++c) rstd[c] = static_cast<float>(1.0 / std::sqrt(variance[c] + eps_));
    const BatchNormChannels of{
        .mean = floats(args.inputs[3]), .rstd = rstd, .gamma = floats(args.inputs[1]), .beta = floats(args.inputs[2])};
    for_each_chunk([&](const Chunk& chunk, int64_t) {
      const int64_t at = chunk.first_row * channels_;
      normalize_(x + at, residual ? residual + at : nullptr, chunk.rows, channels_, of, relu_, y + at);
    });
  }

 private:
  const double eps_;
  decltype(&isa_v2::batch_normalize) normalize_ = TM_SIMD_CHOICE(batch_normalize);
};

std::unique_ptr<Kernel> make_grad(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<BatchNormGradCpu>(batch_norm_grad_shape(request.call), request.threads);
}

std::unique_ptr<Kernel> make_inference(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<BatchNormInferenceCpu>(batch_norm_inference_shape(request.call), request.threads,
                                                 request.call.attributes.real("eps"));
}

}  // namespace

std::vector<KernelEntry> batch_norm_grad_kernels() { return {{"cpu:batch_norm_grad", KernelDevice::cpu, make_grad}}; }

std::vector<KernelEntry> batch_norm_inference_kernels() {
  return {{"cpu:batch_norm_inference", KernelDevice::cpu, make_inference}};
}

}  // namespace tidemark::ops
