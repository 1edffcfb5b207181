#include "ops/cached_attention/cached_attention_cpu.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/parallel.h"
#include "ops/cached_attention/cached_head.h"
#include "ops/cached_attention/kv_cache_layout.h"
#include "ops/op_rules.h"
#include "ops/simd/workspace_floats.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

// Each head of each text is computed by one thread whole: the result does not hang on the number of threads.
class CachedAttentionCpu : public Kernel {
 public:
  explicit CachedAttentionCpu(const KernelRequest& request) {
    const Shape& qkv = request.call.input(0).shape;
    const Shape& cache = request.call.input(1).shape;
    batch_ = qkv[0], tokens_ = qkv[1], channels_ = qkv[2] / 3;
    capacity_ = cache[0] * kKvBlockTokens, layers_ = cache[1], lanes_ = cache[2], heads_ = cache[3];
    layer_ = request.call.attributes.integer("layer");
    parts_ = static_cast<int>(std::clamp<int64_t>(batch_ * heads_, 1, request.threads));
    WorkspaceFloats part;
    part.add(cached_attention_floats(capacity_));
    part_floats_ = part.bytes() / static_cast<int64_t>(sizeof(float));
  }

  int64_t workspace_bytes() const override { return parts_ * part_floats_ * static_cast<int64_t>(sizeof(float)); }

  void run(const KernelArgs& args) const override {
    const float* qkv = static_cast<const float*>(args.inputs[0]);
    float* cache = static_cast<float*>(args.outputs[1]);
    float* out = static_cast<float*>(args.outputs[0]);
    const int64_t length = *static_cast<const int32_t*>(args.inputs[2]);
    TM_CHECK(length >= 0 && length + tokens_ <= capacity_, "tokens beyond the cache");
    parallel_for(parts_, batch_ * heads_, [&](int64_t begin, int64_t end, int part) {
      float* scratch = WorkspaceFloats::at(args.workspace, part * part_floats_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t text = i / heads_, head = i % heads_, channel = head * (channels_ / heads_);
        const CachedHead cached = head_at(qkv + text * tokens_ * 3 * channels_ + channel, length);
        for (int64_t lane = text; lane < (batch_ == 1 ? lanes_ : text + 1); ++lane)
          kernels_.append(cached, blocks_of(cache, lane, head));
        kernels_.attend(cached, blocks_of(cache, text, head), scratch, out + text * tokens_ * channels_ + channel);
      }
    });
  }

 private:
  CachedHead head_at(const float* q, int64_t length) const {
    const int64_t dim = channels_ / heads_;
    return {.length = length,
            .tokens = tokens_,
            .head_dim = dim,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(dim))),
            .qkv_row = 3 * channels_,
            .out_row = channels_,
            .q = q,
            .k = q + channels_,
            .v = q + 2 * channels_};
  }

  HeadBlocks blocks_of(float* cache, int64_t lane, int64_t head) const {
    const int64_t floats = kv_head_floats(channels_ / heads_);
    return {.first = cache + ((layer_ * lanes_ + lane) * heads_ + head) * floats,
            .stride = layers_ * lanes_ * heads_ * floats};
  }

  int64_t batch_, tokens_, channels_, capacity_, layers_, lanes_, heads_, layer_, part_floats_;
  int parts_;
  const CachedAttentionKernels& kernels_ = *simd_choice(
      &isa_v2::kCachedAttentionKernels, &isa_v3::kCachedAttentionKernels, &isa_v4::kCachedAttentionKernels);
};

}  // namespace

std::unique_ptr<Kernel> make_cached_attention_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<CachedAttentionCpu>(request);
}

}  // namespace tidemark::ops
