#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/pool2d/pool2d_kernels.h"
#include "ops/pool2d/pool_shape.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class MaxPoolCpu : public Kernel {
 public:
  MaxPoolCpu(const MaxPoolSizes& s, int threads) : s_(s), threads_(useful_threads(threads, x_shape(s).elements())) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* y = static_cast<float*>(args.outputs[0]);
    uint8_t* indices = static_cast<uint8_t*>(args.outputs[1]);
    const int64_t image = s_.height * s_.width * s_.channels, out_row = s_.out_width * s_.channels;
    parallel_for(threads_, s_.batch * s_.out_height, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        row_(s_, x + i / s_.out_height * image, i % s_.out_height, y + i * out_row, indices + i * out_row);
      }
    });
  }

 private:
  const MaxPoolSizes s_;
  const int threads_;
  decltype(&isa_v2::max_pool_row) row_ = TM_SIMD_CHOICE(max_pool_row);
};

class MaxPoolGradCpu : public Kernel {
 public:
  MaxPoolGradCpu(const MaxPoolSizes& s, int threads)
      : s_(s), threads_(useful_threads(threads, x_shape(s).elements())) {}

  void run(const KernelArgs& args) const override {
    const float* dy = static_cast<const float*>(args.inputs[0]);
    const uint8_t* indices = static_cast<const uint8_t*>(args.inputs[1]);
    float* dx = static_cast<float*>(args.outputs[0]);
    const int64_t out_image = s_.out_height * s_.out_width * s_.channels, row = s_.width * s_.channels;
    parallel_for(threads_, s_.batch * s_.height, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t image = i / s_.height * out_image;
        row_(s_, dy + image, indices + image, i % s_.height, dx + i * row);
      }
    });
  }

 private:
  const MaxPoolSizes s_;
  const int threads_;
  decltype(&isa_v2::max_pool_grad_row) row_ = TM_SIMD_CHOICE(max_pool_grad_row);
};

class GlobalAvgPoolCpu : public Kernel {
 public:
  GlobalAvgPoolCpu(const GlobalPoolSizes& s, int threads)
      : s_(s), threads_(useful_threads(threads, s.batch * s.spatial * s.channels)) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* y = static_cast<float*>(args.outputs[0]);
    parallel_for(threads_, s_.batch, [&](int64_t begin, int64_t end, int) {
      for (int64_t b = begin; b < end; ++b) {
        average_(x + b * s_.spatial * s_.channels, s_.spatial, s_.channels, y + b * s_.channels);
      }
    });
  }

 private:
  const GlobalPoolSizes s_;
  const int threads_;
  decltype(&isa_v2::average_rows) average_ = TM_SIMD_CHOICE(average_rows);
};

class GlobalAvgPoolGradCpu : public Kernel {
 public:
  GlobalAvgPoolGradCpu(const GlobalPoolSizes& s, int threads)
      : s_(s), threads_(useful_threads(threads, s.batch * s.spatial * s.channels)) {}

  void run(const KernelArgs& args) const override {
    const float* dy = static_cast<const float*>(args.inputs[0]);
    float* dx = static_cast<float*>(args.outputs[0]);
    const float share = 1.0f / static_cast<float>(s_.spatial);
    parallel_for(threads_, s_.batch * s_.spatial, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        const float* from = dy + r / s_.spatial * s_.channels;
        for (int64_t c = 0; c < s_.channels; ++c) dx[r * s_.channels + c] = from[c] * share;
      }
    });
  }

 private:
  const GlobalPoolSizes s_;
  const int threads_;
};

template <class Cpu, auto sizes>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<Cpu>(sizes(request.call), request.threads);
}

}  // namespace

std::vector<KernelEntry> global_avg_pool2d_kernels() {
  return {{"cpu:global_avg_pool2d", KernelDevice::cpu, make<GlobalAvgPoolCpu, global_avg_pool2d_sizes>}};
}

std::vector<KernelEntry> global_avg_pool2d_grad_kernels() {
  return {{"cpu:global_avg_pool2d_grad", KernelDevice::cpu, make<GlobalAvgPoolGradCpu, global_avg_pool2d_grad_sizes>}};
}

std::vector<KernelEntry> max_pool2d_kernels() {
  return {{"cpu:max_pool2d", KernelDevice::cpu, make<MaxPoolCpu, max_pool2d_sizes>}};
}

std::vector<KernelEntry> max_pool2d_grad_kernels() {
  return {{"cpu:max_pool2d_grad", KernelDevice::cpu, make<MaxPoolGradCpu, max_pool2d_grad_sizes>}};
}

}  // namespace tidemark::ops
