#include "framework/inference/model_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "framework/models/gpt.h"
#include "framework/models/mlp.h"
#include "framework/models/model_keys.h"
#include "framework/testing/plain_allocator.h"
#include "ops/all_ops.h"

namespace tidemark::inference {
namespace {

using ::testing::HasSubstr;

class ModelWeightsTest : public ::testing::Test {
 protected:
  ModelWeights weights_of(const std::string& key, int64_t value) {
    models::Gpt model;
    models::Keys keys;
    keys.integers_by_name = {{"layers", 2}, {"heads", 2}, {"width", 32}, {"context", 70}};
    keys.integers_by_name[key] = value;
    model.fields(keys);
    return ModelWeights(model, data_, ops_.table(), allocator_);
  }
  ModelWeights weights() { return weights_of("layers", 2); }

  static std::span<const std::byte> bytes(const ModelWeights& weights, size_t i) {
    return {weights.places()[i].bytes, static_cast<size_t>(weights.type(i).bytes())};
  }

  // All weights, and what an optimizer keeps beside them.
  static std::unique_ptr<checkpoint::Checkpoint> save(const ModelWeights& weights) {
    std::vector<checkpoint::TensorView> tensors;
    for (size_t i = 0; i < weights.places().size(); ++i) {
      tensors.push_back({weights.places()[i].name, weights.type(i), bytes(weights, i)});
      tensors.push_back({weights.places()[i].name + "/momentum", weights.type(i), bytes(weights, i)});
    }
    const std::string dir =
        ::testing::TempDir() + "weights_" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir);
    checkpoint::save(dir, {.step = 1, .config_yaml = "model: {kind: gpt}"}, tensors);
    return checkpoint::find_newest(dir);
  }

  std::string refusal(ModelWeights weights, const checkpoint::Checkpoint& checkpoint) {
    try {
      weights.load(checkpoint);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::config);
      return error.what();
    }
    return "accepted";
  }

  const ops::OpSet ops_ = ops::all_ops();
  const data::DataInfo data_{
      .fields = {{"tokens", {DType::i32, {70}}}, {"targets", {DType::i32, {70}}}}, .classes = 90, .kind = "text"};
  testing::PlainAllocator allocator_;
};

TEST_F(ModelWeightsTest, AreOneBlockOfTheirCategory) {
  const ModelWeights w = weights();
  EXPECT_EQ(allocator_.stats().live_blocks, 1);
  EXPECT_EQ(allocator_.stats().allocated_by_category[static_cast<size_t>(Category::weights)], w.bytes());
  EXPECT_EQ(w.places().size(), 2U + 2 * 12 + 2);
  for (size_t i = 1; i < w.places().size(); ++i)
    EXPECT_GE(w.places()[i].bytes, w.places()[i - 1].bytes + w.type(i - 1).bytes()) << w.places()[i].name;
}

TEST_F(ModelWeightsTest, ComeBackFromACheckpointBitForBit) {
  ModelWeights saved = weights(), loaded = weights();
  saved.initialise(5);
  loaded.initialise(6);
  loaded.load(*save(saved));
  for (size_t i = 0; i < saved.places().size(); ++i)
    EXPECT_TRUE(std::ranges::equal(bytes(saved, i), bytes(loaded, i))) << saved.places()[i].name;
}

TEST_F(ModelWeightsTest, OfAnotherModelAreRefusedByTensor) {
  ModelWeights saved = weights();
  saved.initialise(5);
  const auto checkpoint = save(saved);
  EXPECT_THAT(refusal(weights_of("layers", 3), *checkpoint),
              HasSubstr("it has no tensor 'layer2/attention/norm/weight'"));
  EXPECT_THAT(refusal(weights_of("layers", 1), *checkpoint),
              HasSubstr("tensor 'layer1/attention/norm/bias' has no place here"));
  EXPECT_THAT(refusal(weights_of("width", 16), *checkpoint),
              HasSubstr("tensor 'embedding/tokens' is f32[128,32] there, f32[128,16] here"));
  EXPECT_EQ(refusal(weights_of("heads", 4), *checkpoint), "accepted") << "heads leave no trace in the shapes";
}

TEST_F(ModelWeightsTest, AModelThatReadsNoTextIsRefused) {
  EXPECT_THROW(ModelWeights(models::Mlp(), data_, ops_.table(), allocator_), Error);
}

}  // namespace
}  // namespace tidemark::inference
