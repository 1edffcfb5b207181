#include <cmath>

#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm/batch_norm_rows.h"
#include "ops/batch_norm/batch_norm_simd.h"
#include "ops/op_rules.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

// Mean and rstd of every group, from the moments of its chunks.
class Statistics : public BatchNormKernel {
 public:
  Statistics(const BatchNormShape& s, int threads, double eps) : BatchNormKernel(s, threads), eps_(eps) {}

  int64_t workspace_bytes() const override { return 2 * chunk_floats() * static_cast<int64_t>(sizeof(float)); }

  void run(const KernelArgs& args) const override {
    find(floats(args.inputs[0]), static_cast<float*>(args.outputs[0]), static_cast<float*>(args.outputs[1]),
         args.workspace);
  }

 protected:
  void find(const float* x, float* mean, float* rstd, std::byte* workspace) const {
    float* chunk_mean = reinterpret_cast<float*>(workspace);
    float* chunk_squares = chunk_mean + chunk_floats();
    for_each_chunk([&](const Chunk& chunk, int64_t i) {
      moments_(x + chunk.first_row * channels_, chunk.rows, channels_, chunk_mean + i * channels_,
               chunk_squares + i * channels_);
    });
    for_each_group_channel([&](int64_t g, int64_t c) {
      combine(chunk_mean, chunk_squares, g, c, mean[g * channels_ + c], rstd[g * channels_ + c]);
    });
  }

 private:
  // Chan, Golub and LeVeque: moments of a union from the moments of its parts.
  void combine(const float* chunk_mean, const float* chunk_squares, int64_t g, int64_t c, float& mean_out,
               float& rstd_out) const {
    double count = 0, mean = 0, squares = 0;
    const int64_t first = chunks_.first_chunk(g);
    for (int64_t i = first; i < first + chunks_.chunks_of_group(g); ++i) {
      const double rows = static_cast<double>(chunks_.chunk(i).rows), sum = count + rows;
      const double delta = chunk_mean[i * channels_ + c] - mean;
      mean += delta * (rows / sum);
      squares += chunk_squares[i * channels_ + c] + delta * delta * (count * rows / sum);
      count = sum;
    }
    mean_out = static_cast<float>(mean);
    rstd_out = static_cast<float>(1.0 / std::sqrt(squares / count + eps_));
  }

  const double eps_;
  decltype(&isa_v2::batch_moments) moments_ = TM_SIMD_CHOICE(batch_moments);
};

// One pass over x and residual (nullptr: none). `of` has the statistics of all groups.
void normalize(const BatchNormKernel& rows, const float* x, const float* residual, const BatchNormChannels& of,
               float* y) {
  const auto batch_normalize = TM_SIMD_CHOICE(batch_normalize);
  rows.for_each_chunk([&](const Chunk& chunk, int64_t) {
    const int64_t at = chunk.first_row * rows.channels(), group = chunk.group * rows.channels();
    batch_normalize(x + at, residual ? residual + at : nullptr, chunk.rows, rows.channels(),
                    {of.mean + group, of.rstd + group, of.gamma, of.beta}, rows.relu(), y + at);
  });
}

class Apply : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  void run(const KernelArgs& args) const override {
    const BatchNormChannels of{.mean = floats(args.inputs[3]),
                               .rstd = floats(args.inputs[4]),
                               .gamma = floats(args.inputs[1]),
                               .beta = floats(args.inputs[2])};
    normalize(*this, floats(args.inputs[0]), optional_floats(args, kBatchNormApplyResidual), of,
              static_cast<float*>(args.outputs[0]));
  }
};

// Both halves.
class Forward : public Statistics {
 public:
  using Statistics::Statistics;

  void run(const KernelArgs& args) const override {
    const float* x = floats(args.inputs[0]);
    float *mean = static_cast<float*>(args.outputs[1]), *rstd = static_cast<float*>(args.outputs[2]);
    find(x, mean, rstd, args.workspace);
    const BatchNormChannels of{
        .mean = mean, .rstd = rstd, .gamma = floats(args.inputs[1]), .beta = floats(args.inputs[2])};
    normalize(*this, x, optional_floats(args, kBatchNormResidual), of, static_cast<float*>(args.outputs[0]));
  }
};

template <class Kernel_, BatchNormShape (*kShape)(const OpCall&)>
std::unique_ptr<Kernel> make_with_eps(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<Kernel_>(kShape(request.call), request.threads, request.call.attributes.real("eps"));
}

std::unique_ptr<Kernel> make_apply(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<Apply>(batch_norm_apply_shape(request.call), request.threads);
}

}  // namespace

std::vector<KernelEntry> batch_norm_kernels() {
  return {{"cpu:batch_norm", KernelDevice::cpu, make_with_eps<Forward, batch_norm_shape>}};
}

std::vector<KernelEntry> batch_norm_statistics_kernels() {
  return {{"cpu:batch_norm_statistics", KernelDevice::cpu, make_with_eps<Statistics, batch_norm_statistics_shape>}};
}

std::vector<KernelEntry> batch_norm_apply_kernels() {
  return {{"cpu:batch_norm_apply", KernelDevice::cpu, make_apply}};
}

}  // namespace tidemark::ops
