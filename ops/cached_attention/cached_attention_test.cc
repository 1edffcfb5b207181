#include "ops/cached_attention/cached_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <ostream>

#include "base/error.h"
#include "ops/attention/attention.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::Reference;

OpSet ops_of_test() {
  OpSet ops;
  ops.add(attention_op());
  ops.add(cached_attention_op());
  return ops;
}

struct Case {
  std::string name;
  int64_t batch, tokens, heads, head_dim;
  int64_t length = 0, room = 16;  // tokens in the cache before, and tokens that it can hold
  int64_t layers = 1, layer = 0, lanes = 1;

  int64_t channels() const { return heads * head_dim; }
  ValueType qkv() const { return {DType::f32, {batch, tokens, 3 * channels()}}; }
  ValueType out() const { return {DType::f32, {batch, tokens, channels()}}; }
  ValueType cache() const { return kv_cache_type({layers, lanes, heads, head_dim}, room); }
  Attributes attributes() const { return {{"heads", heads}, {"layer", layer}}; }
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// Where things lie, written from the words of Note [Cache layout].
class CacheOf {
 public:
  explicit CacheOf(const Case& c) : c_(c) {}

  size_t key(int64_t token, int64_t lane, int64_t head, int64_t d) const {
    return head_at(token, lane, head) + d * 16 + token % 16;
  }
  size_t value(int64_t token, int64_t lane, int64_t head, int64_t d) const {
    return head_at(token, lane, head) + c_.head_dim * 16 + token % 16 * padded() + d;
  }

 private:
  int64_t padded() const { return (c_.head_dim + 15) / 16 * 16; }
  int64_t head_at(int64_t token, int64_t lane, int64_t head) const {
    return (((token / 16 * c_.layers + c_.layer) * c_.lanes + lane) * c_.heads + head) * 16 * (c_.head_dim + padded());
  }
  const Case& c_;
};

void write_tokens(const Case& c, const std::vector<double>& qkv, std::vector<double>& cache) {
  const CacheOf at(c);
  for (int64_t lane = 0; lane < c.lanes; ++lane) {
    const int64_t text = c.batch == 1 ? 0 : lane;
    for (int64_t i = 0; i < c.tokens * c.channels(); ++i) {
      const int64_t token = i / c.channels(), head = i % c.channels() / c.head_dim, d = i % c.head_dim;
      const size_t row = (text * c.tokens + token) * 3 * c.channels() + i % c.channels();
      cache[at.key(c.length + token, lane, head, d)] = qkv[row + c.channels()];
      cache[at.value(c.length + token, lane, head, d)] = qkv[row + 2 * c.channels()];
    }
  }
}

// Softmax over what token `i` of a text sees, times the values.
void attend(const Case& c, const std::vector<double>& cache, int64_t text, int64_t i, int64_t head, const double* query,
            double* out) {
  const CacheOf at(c);
  std::vector<double> p(c.length + i + 1);
  for (size_t j = 0; j < p.size(); ++j) {
    for (int64_t d = 0; d < c.head_dim; ++d) p[j] += query[d] * cache[at.key(j, text, head, d)];
    p[j] /= std::sqrt(static_cast<double>(c.head_dim));
  }
  const double most = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& x : p) sum += x = std::exp(x - most);
  for (size_t j = 0; j < p.size(); ++j)
    for (int64_t d = 0; d < c.head_dim; ++d) out[d] += p[j] / sum * cache[at.value(j, text, head, d)];
}

std::vector<Reference> reference(const Case& c, const std::vector<Reference>& in) {
  Reference out{c.out(), std::vector<double>(c.out().shape.elements())}, cache{c.cache(), in[1].data};
  write_tokens(c, in[0].data, cache.data);
  for (int64_t row = 0; row < c.batch * c.tokens; ++row)
    for (int64_t head = 0; head < c.heads; ++head)
      attend(c, cache.data, row / c.tokens, row % c.tokens, head,
             in[0].data.data() + row * 3 * c.channels() + head * c.head_dim,
             out.data.data() + row * c.channels() + head * c.head_dim);
  return {out, cache};
}

class CachedAttention : public ::testing::TestWithParam<Case> {};

TEST_P(CachedAttention, MatchesReference) {
  const Case& c = GetParam();
  const auto capacity = static_cast<double>(c.cache().shape[0] * 16);
  testing::check_op_case(
      ops_of_test(), {.name = c.name,
                      .op = "cached_attention",
                      .attributes = c.attributes(),
                      .inputs = {{.type = c.qkv()},
                                 {.type = c.cache()},
                                 {.type = {DType::i32, {1}}, .values = {static_cast<double>(c.length)}}},
                      .reference = [&](const Attributes&, const auto& in) { return reference(c, in); },
                      .check_gradient = false,
                      .flops = static_cast<double>(c.batch * c.tokens * c.heads) * capacity * (4.0 * c.head_dim + 4),
                      .bytes_read = c.qkv().bytes() + c.cache().bytes() / c.layers / c.lanes * c.batch + 4,
                      .bytes_written = c.out().bytes() + 8 * c.lanes * c.tokens * c.channels()});
}

INSTANTIATE_TEST_SUITE_P(All, CachedAttention,
                         ::testing::Values(Case{"the first token", 1, 1, 1, 1}, Case{"one more", 1, 1, 2, 5, 7},
                                           Case{"a new block", 2, 1, 2, 16, 16, 40, 1, 0, 2},
                                           Case{"the last of the room", 1, 1, 1, 3, 31, 32},
                                           Case{"a prompt", 1, 21, 2, 20, 0, 30},
                                           Case{"a prompt for three", 1, 9, 2, 6, 0, 20, 2, 1, 3},
                                           Case{"many after many", 2, 19, 3, 8, 45, 64, 3, 1, 2},
                                           Case{"wide head", 1, 7, 1, 80, 30, 37}),
                         [](const auto& info) { return "Case" + std::to_string(info.index); });

// A kernel of an op on plain buffers.
struct KernelRun {
  KernelChoice choice;
  std::vector<std::byte> workspace;

  KernelRun(const OpSet& ops, std::string_view op, const Attributes& attributes,
            const std::vector<std::optional<ValueType>>& types, int threads)
      : choice(ops.choose_kernel(op, KernelDevice::cpu, {{attributes, types}, threads})),
        workspace(choice.kernel->workspace_bytes() + 64) {}

  void operator()(std::vector<const void*> inputs, std::vector<void*> outputs) {
    void* aligned = workspace.data();
    size_t space = workspace.size();
    std::align(64, space - 64, aligned, space);
    choice.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = static_cast<std::byte*>(aligned)});
  }
};

std::vector<float> drawn(int64_t count) {
  std::vector<float> values(count);
  uint32_t state = 12345;
  for (float& value : values) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += (state = state * 1664525u + 1013904223u) / 4294967296.0;
    value = static_cast<float>(sum);
  }
  return values;
}

constexpr int64_t kText = 150, kHeads = 3, kDim = 20, kChannels = kHeads * kDim;

// The text in pieces through the cache, which begins as NaN.
std::vector<float> in_pieces(const std::vector<float>& qkv, const std::vector<int64_t>& pieces, int threads) {
  const OpSet ops = ops_of_test();
  Case c{"pieces", 1, 0, kHeads, kDim, 0, kText};
  std::vector<float> cache(c.cache().shape.elements(), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> out(kText * kChannels);
  int32_t length = 0;
  for (const int64_t tokens : pieces) {
    c.tokens = tokens;
    KernelRun run(ops, "cached_attention", c.attributes(), {c.qkv(), c.cache(), ValueType{DType::i32, {1}}}, threads);
    run({qkv.data() + length * 3 * kChannels, cache.data(), &length}, {out.data() + length * kChannels, cache.data()});
    length += static_cast<int32_t>(tokens);
  }
  return out;
}

TEST(CachedAttention, GivesTheBitsOfAttentionHoweverTheTextIsCut) {
  const std::vector<float> qkv = drawn(kText * 3 * kChannels);
  std::vector<float> whole(kText * kChannels), lse(kHeads * kText);
  const Attributes attributes{{"heads", kHeads}, {"causal", true}};
  KernelRun(ops_of_test(), "attention", attributes, {ValueType{DType::f32, {1, kText, 3 * kChannels}}}, 1)(
      {qkv.data()}, {whole.data(), lse.data()});
  EXPECT_EQ(in_pieces(qkv, std::vector<int64_t>(kText, 1), 1), whole) << "token by token";
  EXPECT_EQ(in_pieces(qkv, {kText}, 1), whole) << "at once";
  EXPECT_EQ(in_pieces(qkv, {1, 15, 17, 64, 53}, 2), whole) << "in pieces, two threads";
}

std::string refusal(Shape qkv, Shape cache, int64_t layer) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, qkv}, ValueType{DType::f32, cache},
                                            ValueType{DType::i32, {1}}};
  const Attributes attributes{{"heads", int64_t{2}}, {"layer", layer}};
  try {
    ops_of_test().table().find("cached_attention").outputs({attributes, types});
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(CachedAttention, RefusesShapesThatDoNotFit) {
  EXPECT_EQ(refusal({3, 2, 24}, {1, 2, 3, 2, 320}, 1), "accepted");
  EXPECT_EQ(refusal({1, 2, 24}, {1, 2, 3, 2, 320}, 1), "accepted");
  EXPECT_EQ(refusal({2, 2, 24}, {1, 2, 3, 2, 320}, 1),
            "op 'cached_attention', operand 'cache': wanted [blocks,layers,2,2,320], given f32[1,2,3,2,320]");
  EXPECT_EQ(refusal({1, 2, 24}, {1, 2, 3, 2, 319}, 1),
            "op 'cached_attention', operand 'cache': wanted [blocks,layers,lanes,2,320], given f32[1,2,3,2,319]");
  EXPECT_EQ(refusal({1, 2, 25}, {1, 2, 3, 2, 320}, 1),
            "op 'cached_attention', operand 'qkv': wanted [batch,tokens,3*channels] with channels a multiple of 2 "
            "heads, given f32[1,2,25]");
  EXPECT_EQ(refusal({1, 2, 24}, {1, 2, 3, 2, 320}, 2),
            "op 'cached_attention', attribute 'layer': wanted 0 to 1, given 2");
}

}  // namespace
}  // namespace tidemark::ops
