// Losses of the tiny runs as they were when they were last looked at: a change of first values, sample order, dropout
// masks, schedules or update rules shows here, also where every run still agrees with every other.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

constexpr const char* kFile = "tests/golden/losses.json";
// CPU levels add in another order; six steps do not let that grow further.
constexpr double kTolerance = 2e-4;

class Losses : public ::testing::TestWithParam<const char*> {};

TEST_P(Losses, AreThoseOnRecord) {
  const TinyResult result = train_tiny(write_tiny_config(test_folder(), GetParam()), {"train.schedule=cosine"});
  std::vector<double> now = result.losses;
  now.push_back(result.report.eval->loss);
  const nlohmann::json recorded = nlohmann::json::parse(read_file(kFile)).at(GetParam());
  SCOPED_TRACE("if the change is meant, the new line of " + std::string(kFile) + " is \"" + GetParam() +
               "\": " + nlohmann::json(now).dump());
  const auto expected = recorded.get<std::vector<double>>();
  ASSERT_EQ(now.size(), expected.size());
  for (size_t i = 0; i < now.size(); ++i) EXPECT_NEAR(now[i], expected[i], kTolerance * expected[i]) << "value " << i;
}

INSTANTIATE_TEST_SUITE_P(Models, Losses, ::testing::Values("mlp", "resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
