#include "ops/cached_attention/cached_attention.h"

#include "base/error.h"
#include "ops/cached_attention/cached_attention_cpu.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kFloat = sizeof(float);

struct Dims {
  int64_t batch, tokens, channels, heads, lanes, layers, capacity;
};

[[noreturn]] void refuse_attribute(const char* attribute, const std::string& wanted, int64_t given) {
  throw Error(ErrorCode::config, "op 'cached_attention', attribute '" + std::string(attribute) + "': wanted " + wanted +
                                     ", given " + std::to_string(given));
}

Dims dims_of(const OpCall& call) {
  constexpr std::string_view kOp = "cached_attention";
  require_inputs(kOp, call, 3, 3);
  const int64_t heads = call.attributes.integer("heads"), layer = call.attributes.integer("layer");
  if (heads < 1) refuse_attribute("heads", "at least 1", heads);
  const ValueType &qkv = call.input(0), &cache = call.input(1);
  if (qkv.shape.rank() != 3 || qkv.shape[2] % (3 * heads) != 0)
    refuse_operand(kOp, "qkv",
                   "[batch,tokens,3*channels] with channels a multiple of " + std::to_string(heads) + " heads",
                   to_string(qkv));
  const int64_t channels = qkv.shape[2] / 3, head_floats = kv_head_floats(channels / heads);
  if (cache.shape.rank() != 5 || cache.shape[3] != heads || cache.shape[4] != head_floats ||
      (qkv.shape[0] != 1 && qkv.shape[0] != cache.shape[2]))
    refuse_operand(kOp, "cache",
                   "[blocks,layers," + (qkv.shape[0] == 1 ? "lanes" : std::to_string(qkv.shape[0])) + "," +
                       std::to_string(heads) + "," + std::to_string(head_floats) + "]",
                   to_string(cache));
  require_dtype(kOp, call, 1, "cache", qkv.dtype);
  require_type(kOp, call, 2, "length", {DType::i32, {1}});
  if (layer < 0 || layer >= cache.shape[1])
    refuse_attribute("layer", "0 to " + std::to_string(cache.shape[1] - 1), layer);
  return {qkv.shape[0], qkv.shape[1], channels, heads, cache.shape[2], cache.shape[1], cache.shape[0] * kKvBlockTokens};
}

class CachedAttention : public Op {
 public:
  std::string_view name() const override { return "cached_attention"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    const Dims d = dims_of(call);
    return {{.type = {call.input(0).dtype, {d.batch, d.tokens, d.channels}}},
            {.type = call.input(1), .suffix = "cache", .category = Category::kv_cache, .overwrites = 1}};
  }

  // As though the cache were full: how much of it is read shows only when it runs.
  Cost cost(const OpCall& call) const override {
    const Dims d = dims_of(call);
    const int64_t per_score = 4 * d.channels + 4 * d.heads;
    Cost cost{.flops = static_cast<double>(d.batch * d.tokens * d.capacity * per_score)};
    cost.bytes_read = call.input(0).bytes() + call.input(1).bytes() / d.layers / d.lanes * d.batch + kFloat;
    cost.bytes_written = d.batch * d.tokens * d.channels * kFloat + d.lanes * d.tokens * 2 * d.channels * kFloat;
    return cost;
  }

  // It writes in place.
  bool may_run_twice() const override { return false; }
};

}  // namespace

OpDefinition cached_attention_op() {
  return {std::make_unique<CachedAttention>(),
          {{"cpu:cached_attention", KernelDevice::cpu, make_cached_attention_cpu}}};
}

}  // namespace tidemark::ops
