// A text that is continued token by token over a cache gets the logits that the training graph gives to the whole text.
#include "framework/models/gpt.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "framework/models/model_keys.h"
#include "ops/all_ops.h"
#include "ops/cached_attention/kv_cache_layout.h"
#include "ops/testing/run_graph.h"

namespace tidemark::models {
namespace {

using ops::testing::run_graph;
using ops::testing::ValueBytes;
using Bytes = std::vector<std::byte>;

constexpr int64_t kTexts = 2, kTokens = 37, kClasses = 100, kLayers = 3, kHeads = 2, kWidth = 24;

data::DataInfo text() {
  const ValueType window{DType::i32, Shape{kTokens}};
  return {.fields = {{"tokens", window}, {"targets", window}}, .classes = kClasses, .kind = "text"};
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats_of(const Bytes& bytes) {
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

class GptTest : public ::testing::Test {
 protected:
  GptTest() {
    Keys keys;
    keys.integers_by_name = {
        {"layers", kLayers}, {"heads", kHeads}, {"width", kWidth}, {"context", kTokens}, {"positions", 45}};
    keys.reals_by_name = {{"dropout", 0.5}};
    model_.fields(keys);
    std::mt19937 random(1);
    for (int32_t& token : tokens_) token = static_cast<int32_t>(random() % kClasses);
  }

  // The same random values for a name in whichever graph it occurs; large enough to matter.
  void add_weights(const Graph& graph, ValueBytes& externals) const {
    for (const Value& v : graph.values()) {
      if (v.category != Category::weights || !v.external()) continue;
      std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(v.name)));
      std::normal_distribution<float> normal(0.0f, 0.3f);
      std::vector<float> values(v.type.shape.elements());
      for (float& x : values) x = normal(random);
      externals[v.id] = bytes_of(values);
    }
  }

  // Logits [kTexts, kTokens, kClasses] of the evaluation graph, from what its head reads.
  std::vector<double> whole_text() const {
    Graph graph("evaluate");
    ModelBuilder builder(graph, ops_.table());
    const data::DataInfo data = text();
    ModelRequest request{.data = data, .batch = kTexts, .training = false};
    const ValueType tokens{DType::i32, {kTexts, kTokens}};
    ValueBytes externals;
    for (const char* name : {"tokens", "targets"}) {
      request.inputs.push_back(builder.external(name, tokens, Category::input, Scope::micro_batch));
      externals[request.inputs.back()] = bytes_of(tokens_);
    }
    request.loss_weight = builder.external("weight", {DType::f32, {1}}, Category::input, Scope::step);
    externals[request.loss_weight] = bytes_of(std::vector<float>{1});
    builder.result(model_.build(builder, request).loss);
    add_weights(graph, externals);
    const ValueBytes values = run_graph(graph, ops_, externals);
    return head(floats_of(values.at(graph.find_value("final_norm/normalise"))),
                floats_of(externals.at(graph.find_value("embedding/tokens"))));
  }

  static std::vector<double> head(const std::vector<float>& x, const std::vector<float>& table) {
    std::vector<double> logits(x.size() / kWidth * kClasses);
    for (size_t i = 0; i < logits.size(); ++i)
      for (size_t c = 0; c < kWidth; ++c)
        logits[i] += double{x[i / kClasses * kWidth + c]} * table[i % kClasses * kWidth + c];
    return logits;
  }

  struct Continuation {
    Graph graph{"continuation"};
    ContinuationRequest request;
    ContinuationOutputs outputs;
    ValueBytes externals;
  };

  // tokens [first, first + count) of `texts` texts, from the first text on.
  Continuation continuation(int64_t texts, int64_t first, int64_t count, const Bytes& cache, bool logits) const {
    Continuation c{.request = {.data = data_, .logits = logits}};
    ModelBuilder builder(c.graph, ops_.table());
    const auto input = [&](const char* name, ValueType type, Bytes bytes) {
      const ValueId id = builder.external(name, std::move(type), Category::input, Scope::micro_batch);
      c.externals[id] = std::move(bytes);
      return id;
    };
    std::vector<int32_t> tokens, positions;
    for (int64_t i = 0; i < texts * count; ++i) {
      positions.push_back(static_cast<int32_t>(first + i % count));
      tokens.push_back(tokens_[i / count * kTokens + positions.back()]);
    }
    c.request.tokens = input("tokens", {DType::i32, {texts, count}}, bytes_of(tokens));
    c.request.positions = input("positions", {DType::i32, {texts, count}}, bytes_of(positions));
    c.request.length = input("length", {DType::i32, {1}}, bytes_of(std::vector<int32_t>{static_cast<int32_t>(first)}));
    c.request.cache = builder.external("cache", cache_type(), Category::kv_cache, Scope::step);
    c.externals[c.request.cache] = cache;
    c.outputs = model_.build_continuation(builder, c.request);
    builder.result(c.outputs.cache);
    if (logits) builder.result(c.outputs.logits);
    add_weights(c.graph, c.externals);
    return c;
  }

  // Runs it, compares its logits with those of the whole text, and gives the cache.
  Bytes run(const Continuation& c, int64_t texts, int64_t first, int64_t count, const std::vector<double>& want) const {
    const ValueBytes values = run_graph(c.graph, ops_, c.externals);
    if (!c.request.logits) return values.at(c.outputs.cache);
    const std::vector<float> got = floats_of(values.at(c.outputs.logits));
    const int64_t rows = static_cast<int64_t>(got.size()) / (texts * count);
    for (int64_t i = 0; i < texts * count; ++i)
      for (int64_t k = 0; k < kClasses; ++k) {
        const double wanted = want[((i / count * kTokens) + first + i % count) * kClasses + k];
        EXPECT_NEAR(got[i * rows + k], wanted, 1e-5 * (1 + std::abs(wanted)))
            << "text " << i / count << " position " << first + i % count << " token " << k;
      }
    return values.at(c.outputs.cache);
  }

  ValueType cache_type() const {
    const CacheShape shape = *model_.cache_shape();
    return ops::kv_cache_type({shape.layers, kTexts, shape.heads, shape.head_dim}, shape.tokens);
  }

  Bytes empty_cache() const {
    return bytes_of(std::vector<float>(cache_type().shape.elements(), std::numeric_limits<float>::quiet_NaN()));
  }

  const ops::OpSet ops_ = ops::all_ops();
  const data::DataInfo data_ = text();
  Gpt model_;
  std::vector<int32_t> tokens_ = std::vector<int32_t>(kTexts * kTokens);
};

TEST_F(GptTest, EveryPositionHasTheLogitsOfTheTrainingGraph) {
  const std::vector<double> want = whole_text();
  for (const std::vector<int64_t>& pieces : {std::vector<int64_t>(kTokens, 1), {20, 1, 1, 15}, {kTokens}}) {
    Bytes cache = empty_cache();
    int64_t first = 0;
    for (const int64_t count : pieces) {
      cache = run(continuation(kTexts, first, count, cache, true), kTexts, first, count, want);
      first += count;
    }
    ASSERT_FALSE(HasFailure()) << pieces.size() << " pieces";
  }
}

// A prompt is read once for all texts, and nobody asks for its logits.
TEST_F(GptTest, APromptServesEveryText) {
  constexpr int64_t kPrompt = 11;
  std::copy_n(tokens_.begin(), kPrompt, tokens_.begin() + kTokens);
  const std::vector<double> want = whole_text();
  Bytes cache = empty_cache();
  cache = run(continuation(1, 0, kPrompt, cache, false), 1, 0, kPrompt, want);
  for (int64_t i = kPrompt; i < kTokens; ++i) cache = run(continuation(kTexts, i, 1, cache, true), kTexts, i, 1, want);
}

TEST_F(GptTest, ACacheHasRoomForEveryPosition) {
  const std::optional<CacheShape> shape = model_.cache_shape();
  ASSERT_TRUE(shape.has_value());
  EXPECT_EQ(shape->tokens, 45) << "model.positions, which is more than model.context";
  EXPECT_EQ(shape->head_dim, kWidth / kHeads);
}

}  // namespace
}  // namespace tidemark::models
