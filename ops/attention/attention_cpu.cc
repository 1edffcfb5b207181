#include "ops/attention/attention_cpu.h"

#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/attention/attention_head.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

// Heads of all sequences are shared out to the threads, each computed by one of them whole: the result does not hang on
// the number of threads.
class AttentionCpu : public Kernel {
 public:
  AttentionCpu(const KernelRequest& request, bool gradient) {
    const Shape& qkv = request.call.input(0).shape;
    batch_ = qkv[0], length_ = qkv[1], channels_ = qkv[2] / 3;
    heads_ = request.call.attributes.integer("heads");
    causal_ = request.call.attributes.boolean_or("causal", true);
    parts_ = static_cast<int>(std::clamp<int64_t>(batch_ * heads_, 1, request.threads));
    const int64_t dim = channels_ / heads_;
    WorkspaceFloats part;
    part.add(gradient ? attention_backward_floats(length_, dim) : attention_forward_floats(length_, dim));
    part_floats_ = part.bytes() / static_cast<int64_t>(sizeof(float));
  }

  int64_t workspace_bytes() const override { return parts_ * part_floats_ * static_cast<int64_t>(sizeof(float)); }

 protected:
  // Calls body(head, scratch, offset in qkv, offset in out, offset in lse) for every head.
  template <class Body>
  void for_each_head(const KernelArgs& args, Body body) const {
    const float* qkv = static_cast<const float*>(args.inputs[0]);
    parallel_for(parts_, batch_ * heads_, [&](int64_t begin, int64_t end, int part) {
      float* scratch = WorkspaceFloats::at(args.workspace, part * part_floats_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t sequence = i / heads_, channel = i % heads_ * (channels_ / heads_);
        const int64_t at_qkv = sequence * length_ * 3 * channels_ + channel;
        body(head_at(qkv + at_qkv), scratch, at_qkv, sequence * length_ * channels_ + channel, i * length_);
      }
    });
  }

  int64_t channels() const { return channels_; }
  const AttentionKernels& kernels() const { return kernels_; }

 private:
  AttentionHead head_at(const float* q) const {
    const int64_t dim = channels_ / heads_;
    return {.length = length_,
            .head_dim = dim,
            .causal = causal_,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
            .qkv_row = 3 * channels_,
            .out_row = channels_,
            .q = q,
            .k = q + channels_,
            .v = q + 2 * channels_};
  }

  int64_t batch_, length_, channels_, heads_, part_floats_;
  bool causal_;
  int parts_;
  const AttentionKernels& kernels_ =
      *simd_choice(&isa_v2::kAttentionKernels, &isa_v3::kAttentionKernels, &isa_v4::kAttentionKernels);
};

class AttentionForward : public AttentionCpu {
 public:
  explicit AttentionForward(const KernelRequest& request) : AttentionCpu(request, false) {}

  void run(const KernelArgs& args) const override {
    float* out = static_cast<float*>(args.outputs[0]);
    float* lse = static_cast<float*>(args.outputs[1]);
    for_each_head(args, [&](const AttentionHead& head, float* scratch, int64_t, int64_t at_out, int64_t at_lse) {
      kernels().forward(head, scratch, out + at_out, lse + at_lse);
    });
  }
};

class AttentionBackward : public AttentionCpu {
 public:
  explicit AttentionBackward(const KernelRequest& request) : AttentionCpu(request, true) {}

  void run(const KernelArgs& args) const override {
    const float* out = static_cast<const float*>(args.inputs[1]);
    const float* lse = static_cast<const float*>(args.inputs[2]);
    const float* dout = static_cast<const float*>(args.inputs[3]);
    float* dqkv = static_cast<float*>(args.outputs[0]);
    for_each_head(args, [&](const AttentionHead& head, float* scratch, int64_t at_qkv, int64_t at_out, int64_t at_lse) {
      float* dq = dqkv + at_qkv;
      kernels().backward(head, out + at_out, lse + at_lse, dout + at_out, scratch,
                         {.dq = dq, .dk = dq + channels(), .dv = dq + 2 * channels()});
    });
  }
};

template <class AttentionKernel>
std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& why_not) {
  if (request.call.input(0).dtype == DType::f32) return std::make_unique<AttentionKernel>(request);
  why_not = "takes f32 only";
  return nullptr;
}

}  // namespace

std::unique_ptr<Kernel> make_attention_cpu(const KernelRequest& request, std::string& why_not) {
  return make<AttentionForward>(request, why_not);
}

std::unique_ptr<Kernel> make_attention_grad_cpu(const KernelRequest& request, std::string& why_not) {
  return make<AttentionBackward>(request, why_not);
}

}  // namespace tidemark::ops
