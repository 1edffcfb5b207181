#include "framework/inference/generator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <set>

#include "base/error.h"
#include "device/host_memory.h"
#include "framework/models/gpt.h"
#include "framework/models/model_keys.h"
#include "framework/testing/plain_allocator.h"
#include "ops/all_ops.h"
#include "ops/testing/run_graph.h"

namespace tidemark::inference {
namespace {

constexpr int64_t kClasses = 90, kContext = 70;

data::DataInfo text() {
  const ValueType window{DType::i32, Shape{kContext}};
  return {.fields = {{"tokens", window}, {"targets", window}}, .classes = kClasses, .kind = "text"};
}

models::Keys small_keys() {
  models::Keys keys;
  keys.integers_by_name = {{"layers", 2}, {"heads", 2}, {"width", 32}, {"context", kContext}};
  return keys;
}

class GeneratorTest : public ::testing::Test {
 protected:
  GeneratorTest() {
    models::Keys keys = small_keys();
    model_.fields(keys);
    weights_.emplace(model_, data_, ops_.table(), allocator_);
    weights_->initialise(3);
    // The first weights of a training run only repeat a token; ten times as large they make a text.
    for (size_t i = 0; i < weights_->places().size(); ++i)
      if (weights_->type(i).shape.rank() == 2) scale(weights_->places()[i].bytes, weights_->type(i), 10);
    generator_.emplace(model_, data_, ops_, *weights_, device_, allocator_, GeneratorOptions{});
  }

  static void scale(std::byte* bytes, const ValueType& type, float factor) {
    float* values = reinterpret_cast<float*>(bytes);
    for (int64_t i = 0; i < type.shape.elements(); ++i) values[i] *= factor;
  }

  std::string refusal(const GenerateRequest& request, ErrorCode code = ErrorCode::config) {
    try {
      generator_->generate(request);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      return error.what();
    }
    return "accepted";
  }

  // The likeliest token after `tokens` by the graph that evaluation runs, without any cache.
  int32_t likeliest_after(const std::vector<int32_t>& tokens) const {
    Graph graph("evaluate");
    models::ModelBuilder builder(graph, ops_.table());
    const ValueType window{DType::i32, {1, std::ssize(tokens)}};
    models::ModelRequest request{.data = data_, .training = false};
    request.inputs = {builder.external("tokens", window, Category::input, Scope::micro_batch),
                      builder.external("targets", window, Category::input, Scope::micro_batch)};
    request.loss_weight = builder.external("weight", {DType::f32, {1}}, Category::input, Scope::step);
    builder.result(model_.build(builder, request).loss);
    ops::testing::ValueBytes externals;
    const std::vector<float> one{1};
    const auto copied = [](const auto* from, size_t bytes) {
      const auto* begin = reinterpret_cast<const std::byte*>(from);
      return std::vector<std::byte>(begin, begin + bytes);
    };
    for (const ValueId input : request.inputs) externals[input] = copied(tokens.data(), 4 * tokens.size());
    externals[request.loss_weight] = copied(one.data(), 4);
    for (const auto& place : weights_->places()) {
      const ValueId id = graph.find_value(place.name);
      externals[id] = copied(place.bytes, static_cast<size_t>(graph.value(id).type.bytes()));
    }
    const auto values = ops::testing::run_graph(graph, ops_, externals);
    const auto& x = values.at(graph.find_value("final_norm/normalise"));
    const auto* last = reinterpret_cast<const float*>(x.data()) + 32 * (tokens.size() - 1);
    const auto* table = reinterpret_cast<const float*>(externals.at(graph.find_value("embedding/tokens")).data());
    std::vector<double> logits(kClasses);
    for (size_t i = 0; i < logits.size(); ++i)
      for (size_t c = 0; c < 32; ++c) logits[i] += double{last[c]} * table[i * 32 + c];
    return static_cast<int32_t>(std::ranges::max_element(logits) - logits.begin());
  }

  const ops::OpSet ops_ = ops::all_ops();
  const data::DataInfo data_ = text();
  models::Gpt model_;
  HostMemory device_;
  testing::PlainAllocator allocator_;
  std::optional<ModelWeights> weights_;
  std::optional<Generator> generator_;
};

TEST_F(GeneratorTest, WithoutTemperatureItIsTheTextOfTheWholeGraph) {
  std::vector<int32_t> so_far = {5, 17, 80, 2, 9};
  const GenerateReport report = generator_->generate({.prompt = so_far, .tokens = 40, .sampling = {.temperature = 0}});
  ASSERT_EQ(report.samples[0].size(), 40U);
  EXPECT_EQ(report.finish, FinishReason::tokens);
  for (const int32_t token : report.samples[0]) {
    ASSERT_EQ(token, likeliest_after(so_far)) << "after " << so_far.size() << " tokens";
    so_far.push_back(token);
  }
  EXPECT_GT(std::set<int32_t>(so_far.begin() + 5, so_far.end()).size(), 2U) << "a text worth the comparison";
}

TEST_F(GeneratorTest, SeedsAndSamplesDifferAndRepeat) {
  const GenerateRequest request{.prompt = {1, 2, 3}, .tokens = 30, .samples = 3, .sampling = {.seed = 5}};
  const GenerateReport first = generator_->generate(request), again = generator_->generate(request);
  EXPECT_EQ(first.samples, again.samples);
  EXPECT_NE(first.samples[0], first.samples[1]);
  EXPECT_NE(first.samples[1], first.samples[2]);
  GenerateRequest other = request;
  other.sampling.seed = 6;
  EXPECT_NE(generator_->generate(other).samples, first.samples);
  other.sampling = {.seed = 5, .top_k = 1};
  const GenerateReport greedy = generator_->generate(other);
  EXPECT_EQ(greedy.samples[0], greedy.samples[2]);
}

TEST_F(GeneratorTest, EndsWhereThePositionsEnd) {
  const GenerateReport report = generator_->generate({.prompt = {1, 2, 3}, .tokens = 1000});
  EXPECT_EQ(report.finish, FinishReason::context);
  EXPECT_EQ(report.samples[0].size(), static_cast<size_t>(kContext) - 3);
  const GenerateReport exact = generator_->generate({.prompt = {1, 2, 3}, .tokens = kContext - 3});
  EXPECT_EQ(exact.finish, FinishReason::tokens);
  EXPECT_EQ(exact.samples[0], report.samples[0]);
}

TEST_F(GeneratorTest, TokensAreToldAsTheyCome) {
  std::vector<std::vector<int32_t>> told(2);
  std::atomic<bool> stop{false};
  GenerateRequest request{.prompt = {1}, .tokens = 50, .samples = 2};
  request.stop = &stop;
  request.on_token = [&](int64_t sample, int32_t token) {
    told[static_cast<size_t>(sample)].push_back(token);
    stop = told[1].size() == 7;
  };
  const GenerateReport report = generator_->generate(request);
  EXPECT_EQ(report.samples, told);
  EXPECT_EQ(report.samples[0].size(), 7U);
  EXPECT_EQ(report.finish, FinishReason::stopped);
}

TEST_F(GeneratorTest, TheCacheGrowsWithTheTextAndGoesWithIt) {
  const int64_t floor = allocator_.stats().allocated_bytes;
  EXPECT_EQ(floor, allocator_.stats().allocated_by_category[static_cast<size_t>(Category::weights)]);
  std::vector<int64_t> pages;
  GenerateRequest request{.prompt = {1, 2, 3}, .tokens = 60, .samples = 200};
  request.on_token = [&](int64_t, int32_t) {
    EXPECT_EQ(device_.committed_bytes(), generator_->kv_cache_bytes()) << "nothing else is the device's here";
    if (pages.empty() || pages.back() != generator_->kv_cache_bytes()) pages.push_back(generator_->kv_cache_bytes());
  };
  const GenerateReport report = generator_->generate(request);
  // 16 tokens of 200 texts in 2 layers with 2 heads of 2 x 16 floats.
  constexpr int64_t kBlock = int64_t{16} * 200 * 2 * 2 * 2 * 16 * 4;
  std::vector<int64_t> want;
  for (int64_t blocks = 1; blocks <= 4; ++blocks) want.push_back(device_.round_up(blocks * kBlock));
  want.erase(std::unique(want.begin(), want.end()), want.end());
  EXPECT_EQ(pages, want);
  EXPECT_EQ(report.kv_cache_bytes, want.back());
  EXPECT_EQ(report.kv_cache_used_bytes, 4 * kBlock) << "62 of 63 tokens were read";
  EXPECT_EQ(device_.committed_bytes(), 0);
  EXPECT_EQ(generator_->kv_cache_bytes(), 0);
  EXPECT_EQ(allocator_.stats().allocated_bytes, floor);
}

TEST_F(GeneratorTest, AShapeIsPlannedWhenItComesAgain) {
  generator_->generate({.prompt = {1, 2, 3}, .tokens = 1});
  EXPECT_EQ(generator_->counts().plans, 0);
  generator_->generate({.prompt = {4, 5, 6}, .tokens = 3});
  EXPECT_EQ(generator_->counts().plans, 2) << "the prompt of three, and the token";
  EXPECT_EQ(generator_->counts().unplanned_runs, 2);
  EXPECT_EQ(generator_->counts().planned_runs, 4);
}

TEST_F(GeneratorTest, WhereverMemoryEndsNothingStays) {
  const GenerateRequest request{.prompt = {1, 2, 3}, .tokens = 3, .sampling = {.temperature = 0}};
  const GenerateReport want = Generator(model_, data_, ops_, *weights_, device_, allocator_, {}).generate(request);
  const int64_t floor = allocator_.stats().allocated_bytes;
  int64_t grants = 0;
  for (bool refused = true; refused; ++grants) {
    allocator_.refuse_after(grants);
    try {
      EXPECT_EQ(generator_->generate(request).samples, want.samples);
      refused = false;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      EXPECT_EQ(allocator_.stats().allocated_bytes, floor) << "after " << grants << " requests";
      EXPECT_EQ(device_.committed_bytes(), 0);
    }
  }
  EXPECT_GT(grants, 3);
}

TEST_F(GeneratorTest, ARequestThatCannotFitIsRefusedBeforeItRuns) {
  device_.set_limit_bytes(2 * device_.granularity_bytes());
  const int64_t calls = device_.alloc_calls();
  EXPECT_THAT(refusal({.prompt = {1, 2, 3}, .tokens = 60, .samples = 200}, ErrorCode::out_of_memory),
              ::testing::HasSubstr("200 samples of 62 tokens need a key/value cache of"));
  EXPECT_EQ(device_.alloc_calls(), calls + 1) << "addresses, no pages";
}

// Case: a limit of one and a half pages passed the look at bytes, and the cache found no page after the weights.
TEST_F(GeneratorTest, OnlyWholePagesOfTheLimitCount) {
  device_.set_limit_bytes(device_.granularity_bytes() * 3 / 2);
  EXPECT_THAT(refusal({.prompt = {1, 2, 3}, .tokens = 1}, ErrorCode::out_of_memory),
              ::testing::HasSubstr("in whole pages, the limit is"));
}

// A neighbour took what the limit leaves.
TEST_F(GeneratorTest, ACacheThatFindsNoPagesIsNamed) {
  const int64_t page = device_.granularity_bytes();
  VirtualRange neighbour = device_.reserve(20 * page);
  neighbour.commit(0, 20 * page);
  device_.set_limit_bytes(22 * page);
  EXPECT_THAT(refusal({.prompt = {1, 2, 3}, .tokens = 60, .samples = 200}, ErrorCode::out_of_memory),
              ::testing::HasSubstr("of 200 texts needs"));
  EXPECT_EQ(device_.committed_bytes(), 20 * page);
  EXPECT_EQ(generator_->generate({.prompt = {1, 2, 3}, .tokens = 2}).samples[0].size(), 2U);
}

TEST_F(GeneratorTest, RequestsThatCannotBeAreRefused) {
  EXPECT_EQ(refusal({.prompt = {}}), "the prompt is empty; it needs at least one token");
  EXPECT_EQ(refusal({.prompt = {3, 90}}), "the prompt has token 90; tokens are below 90");
  EXPECT_EQ(refusal({.prompt = std::vector<int32_t>(70, 1)}),
            "the prompt has 70 tokens, the longest text 70 (model.context, or model.positions); shorten the prompt");
  EXPECT_EQ(refusal({.prompt = std::vector<int32_t>(69, 1)}), "accepted");
  EXPECT_EQ(refusal({.prompt = {1}, .samples = 0}), "tokens and samples: wanted at least 1");
  EXPECT_EQ(refusal({.prompt = {1}, .sampling = {.temperature = -1}}), "temperature and top_k: wanted at least 0");
}

}  // namespace
}  // namespace tidemark::inference
