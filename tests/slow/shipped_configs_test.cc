// The shipped configurations reach what the README says, in the time that it says. Tagged slow: minutes each.
#include <gtest/gtest.h>

#include <chrono>

#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

using std::chrono::minutes;

struct Trained {
  nlohmann::json report;
  std::chrono::steady_clock::duration took{};
};

// The configuration as it is, but for where it writes and what it serves.
Trained train(const std::string& config) {
  const std::string folder = test_folder();
  const auto begin = std::chrono::steady_clock::now();
  Program program(folder, {"train", "--json", "-c", "configs/" + config, "--set", "checkpoint.dir=" + folder + "/run",
                           "--set", "metrics.listen="});
  const Finished finished = program.wait(minutes(20));
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  return {finished.json(), std::chrono::steady_clock::now() - begin};
}

TEST(ShippedConfigs, FashionMnistReaches91PercentWithinTenMinutes) {
  const Trained trained = train("fashion_mnist_resnet.yaml");
  EXPECT_GE(trained.report["eval"]["accuracy"], 0.91);
  EXPECT_EQ(trained.report["eval"]["samples"], 10'000);
  EXPECT_LT(trained.took, minutes(10));
  EXPECT_EQ(trained.report["measured_peak_bytes"], trained.report["planned_peak_bytes"]);
  EXPECT_LE(trained.report["measured_peak_bytes"], trained.report["budget_bytes"]);
}

TEST(ShippedConfigs, GptFallsBelow1Point8NatsAByteWithin15Minutes) {
  const Trained trained = train("gpt_text.yaml");
  EXPECT_LT(trained.report["eval"]["loss"], 1.8);
  EXPECT_LT(trained.took, minutes(15));
  EXPECT_EQ(trained.report["measured_peak_bytes"], trained.report["planned_peak_bytes"]);
  EXPECT_LE(trained.report["measured_peak_bytes"], trained.report["budget_bytes"]);
}

TEST(ShippedConfigs, LstmFallsBelow1Point82NatsAByteWithinEightMinutes) {
  const Trained trained = train("lstm_lines.yaml");
  EXPECT_LT(trained.report["eval"]["loss"], 1.82);
  EXPECT_LT(trained.took, minutes(8));
  EXPECT_LE(trained.report["measured_peak_bytes"], trained.report["planned_peak_bytes"]);
  EXPECT_LE(trained.report["measured_peak_bytes"], trained.report["budget_bytes"]);
}

}  // namespace
}  // namespace tidemark::tests
