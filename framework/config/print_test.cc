#include "framework/config/print.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "framework/config/load.h"
#include "framework/config/testing/fake_lists.h"

namespace tidemark::config {
namespace {

using testing::HasSubstr;

LoadedConfig parse(std::string_view text) { return parse_config(text, "c.yaml", "", {}, fake_lists()); }

constexpr std::string_view kText = R"(
model: {kind: norm, stages: [1, 2, 3]}
data: {kind: file, path: /, note: "a 'b' \"c\" #: \\ \n true", limit: 50%, share: 0.30000000000000004}
train: {lr: 1.0e-9, steps: 12, optimizer: sgd, momentum: 0.1, global_batch: 16}
memory: {budget: 1.5GiB, norm_batch: 4, micro_batch: 8}
checkpoint: {dir: "true", every: 7}
device: "sim:a?size=2GiB"
)";

TEST(PrintConfig, YamlReadsBackAsTheSameConfiguration) {
  const LoadedConfig first = parse(kText);
  const std::string yaml = to_yaml(first.config);
  const LoadedConfig second = parse(yaml);
  EXPECT_EQ(to_yaml(second.config), yaml);
  EXPECT_EQ(second.config.train.lr, 1e-9);
  EXPECT_EQ(second.config.checkpoint.dir, "true");
  EXPECT_THAT(yaml, HasSubstr("  share: 0.30000000000000004\n"));
  EXPECT_THAT(yaml, HasSubstr("model:\n  kind: norm\n  stages: [1, 2, 3]\n"));
}

TEST(PrintConfig, JsonHoldsTypedValues) {
  const auto json = nlohmann::json::parse(to_json(parse(kText).config));
  EXPECT_EQ(json["model"]["kind"], "norm");
  EXPECT_EQ(json["model"]["stages"], (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(json["data"]["note"], "a 'b' \"c\" #: \\ \n true");
  EXPECT_EQ(json["train"]["steps"], 12);
  EXPECT_EQ(json["train"]["nesterov"], false);
  EXPECT_EQ(json["device"], "sim:a?size=2GiB");
}

TEST(PrintConfig, ReferenceLoadsAndHoldsTheDefaults) {
  const std::string reference = reference_yaml(fake_lists());
  const LoadedConfig loaded = parse(reference);
  EXPECT_EQ(to_yaml(loaded.config), to_yaml(parse("model: {kind: tiny}\ndata: {kind: noise}\n").config));
  EXPECT_THAT(reference, HasSubstr("  kind: tiny  # one of tiny, norm\n"));
  EXPECT_THAT(
      reference,
      HasSubstr("  # With kind: norm\n  # stages: [2, 2]  # Blocks of each stage. (list of integers, 1 or more)\n"));
  EXPECT_THAT(reference, HasSubstr("  optimizer: adamw    # Update rule. (one of adamw, sgd)\n"));
}

}  // namespace
}  // namespace tidemark::config
