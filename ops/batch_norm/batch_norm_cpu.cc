#include <cmath>

#include "base/parallel.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm/batch_norm_shape.h"
#include "ops/batch_norm/batch_norm_simd.h"
#include "ops/batch_norm/group_chunks.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

const float* floats(const void* p) { return static_cast<const float*>(p); }

// What forward, backward and inference share: the cut of the rows, and the threads.
class BatchNormKernel : public Kernel {
 public:
  BatchNormKernel(const BatchNormShape& s, int threads)
      : channels_(s.channels),
        relu_(s.relu),
        chunks_(s.samples, s.spatial, s.channels, s.group),
        threads_(useful_threads(threads, s.samples * s.spatial * s.channels)) {}

 protected:
  // body(chunk, index) for every chunk.
  template <class Body>
  void for_each_chunk(Body body) const {
    parallel_for(threads_, chunks_.chunks(), [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) body(chunks_.chunk(i), i);
    });
  }

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

class BatchNormCpu : public BatchNormKernel {
 public:
  BatchNormCpu(const BatchNormShape& s, int threads, double eps) : BatchNormKernel(s, threads), eps_(eps) {}

  int64_t workspace_bytes() const override { return 2 * chunk_floats() * static_cast<int64_t>(sizeof(float)); }

  void run(const KernelArgs& args) const override {
    const float *x = floats(args.inputs[0]), *gamma = floats(args.inputs[1]), *beta = floats(args.inputs[2]);
    float* y = static_cast<float*>(args.outputs[0]);
    float *mean = static_cast<float*>(args.outputs[1]), *rstd = static_cast<float*>(args.outputs[2]);
    float* chunk_mean = reinterpret_cast<float*>(args.workspace);
    float* chunk_squares = chunk_mean + chunk_floats();

    for_each_chunk([&](const Chunk& chunk, int64_t i) {
      moments_(x + chunk.first_row * channels_, chunk.rows, channels_, chunk_mean + i * channels_,
               chunk_squares + i * channels_);
    });
    for_each_group_channel([&](int64_t g, int64_t c) {
      combine(chunk_mean, chunk_squares, g, c, mean[g * channels_ + c], rstd[g * channels_ + c]);
    });
    for_each_chunk([&](const Chunk& chunk, int64_t) {
      const int64_t at = chunk.first_row * channels_, group = chunk.group * channels_;
      normalize_(x + at, chunk.rows, channels_, mean + group, rstd + group, gamma, beta, relu_, y + at);
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
  decltype(&isa_v2::batch_normalize) normalize_ = TM_SIMD_CHOICE(batch_normalize);
};

class BatchNormGradCpu : public BatchNormKernel {
 public:
  using BatchNormKernel::BatchNormKernel;

  int64_t workspace_bytes() const override {
    return 2 * (chunk_floats() + group_floats()) * static_cast<int64_t>(sizeof(float));
  }

  void run(const KernelArgs& args) const override {
    const float *dy = floats(args.inputs[0]), *x = floats(args.inputs[1]);
    const float* y = relu_ ? floats(args.inputs[5]) : nullptr;
    const float *mean = floats(args.inputs[3]), *rstd = floats(args.inputs[4]);
    float* dx = static_cast<float*>(args.outputs[0]);
    float* chunk_dz = reinterpret_cast<float*>(args.workspace);
    float* chunk_dz_xhat = chunk_dz + chunk_floats();
    float* sum_dz = chunk_dz_xhat + chunk_floats();
    float* sum_dz_xhat = sum_dz + group_floats();

    for_each_chunk([&](const Chunk& chunk, int64_t i) {
      const int64_t at = chunk.first_row * channels_, group = chunk.group * channels_;
      sums_(dy + at, x + at, y ? y + at : nullptr, chunk.rows, channels_, mean + group, rstd + group,
            chunk_dz + i * channels_, chunk_dz_xhat + i * channels_);
    });
    for_each_group_channel([&](int64_t g, int64_t c) {
      sum_dz[g * channels_ + c] = sum_of_chunks(chunk_dz, g, c);
      sum_dz_xhat[g * channels_ + c] = sum_of_chunks(chunk_dz_xhat, g, c);
    });
    sum_groups(sum_dz_xhat, optional_input(args, 6), static_cast<float*>(args.outputs[1]));
    sum_groups(sum_dz, optional_input(args, 7), static_cast<float*>(args.outputs[2]));
    for_each_chunk([&](const Chunk& chunk, int64_t) {
      const int64_t at = chunk.first_row * channels_, group = chunk.group * channels_;
      const float inverse_count = 1.0f / static_cast<float>(chunks_.rows_of_group(chunk.group));
      const BatchNormGradient of{mean + group,   rstd + group,        floats(args.inputs[2]),
                                 sum_dz + group, sum_dz_xhat + group, inverse_count};
      gradient_(dy + at, x + at, y ? y + at : nullptr, chunk.rows, channels_, of, dx + at);
    });
  }

 private:
  static const float* optional_input(const KernelArgs& args, size_t i) {
    return i < args.inputs.size() ? floats(args.inputs[i]) : nullptr;
  }

  float sum_of_chunks(const float* chunk_sums, int64_t g, int64_t c) const {
    double sum = 0;
    const int64_t first = chunks_.first_chunk(g);
    for (int64_t i = first; i < first + chunks_.chunks_of_group(g); ++i) sum += chunk_sums[i * channels_ + c];
    return static_cast<float>(sum);
  }

  // out may be the accumulator itself.
  void sum_groups(const float* group_sums, const float* accumulator, float* out) const {
    for (int64_t c = 0; c < channels_; ++c) {
      double sum = accumulator ? accumulator[c] : 0.0;
      for (int64_t g = 0; g < chunks_.groups(); ++g) sum += group_sums[g * channels_ + c];
      out[c] = static_cast<float>(sum);
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
    const float *gamma = floats(args.inputs[1]), *beta = floats(args.inputs[2]);
    const float *mean = floats(args.inputs[3]), *variance = floats(args.inputs[4]);
    float* y = static_cast<float*>(args.outputs[0]);
    float* rstd = reinterpret_cast<float*>(args.workspace);
    for (int64_t c = 0; c < channels_; ++c) rstd[c] = static_cast<float>(1.0 / std::sqrt(variance[c] + eps_));
    for_each_chunk([&](const Chunk& chunk, int64_t) {
      const int64_t at = chunk.first_row * channels_;
      normalize_(x + at, chunk.rows, channels_, mean, rstd, gamma, beta, relu_, y + at);
    });
  }

 private:
  const double eps_;
  decltype(&isa_v2::batch_normalize) normalize_ = TM_SIMD_CHOICE(batch_normalize);
};

std::unique_ptr<Kernel> make_batch_norm(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<BatchNormCpu>(batch_norm_shape(request.call), request.threads,
                                        request.call.attributes.real("eps"));
}

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

std::vector<KernelEntry> batch_norm_kernels() { return {{"cpu:batch_norm", KernelDevice::cpu, make_batch_norm}}; }

std::vector<KernelEntry> batch_norm_grad_kernels() { return {{"cpu:batch_norm_grad", KernelDevice::cpu, make_grad}}; }

std::vector<KernelEntry> batch_norm_inference_kernels() {
  return {{"cpu:batch_norm_inference", KernelDevice::cpu, make_inference}};
}

}  // namespace tidemark::ops
