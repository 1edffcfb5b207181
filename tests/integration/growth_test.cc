// Promise 1: from step 1 to the end the memory of the process outside the device grows by less than 1 MiB.
#include <gtest/gtest.h>

#include "tests/integration/resident.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

class Growth : public ::testing::TestWithParam<const char*> {};

TEST_P(Growth, OutsideTheDeviceIsBelowOneMebibyte) {
  const std::string folder = test_folder();
  TinyRun tiny(write_tiny_config(folder, GetParam()),
               {"train.steps=300", "train.eval_every=50", "checkpoint.every=50", "checkpoint.dir=" + folder + "/run"});
  tiny.start();
  int64_t after_first = 0;
  const auto outside = [&] { return resident_bytes() - tiny.device().measured_bytes(); };
  const train::RunReport report = tiny.train({.at_step_boundary = [&] {
    if (tiny.trainer().steps_done() == 1) after_first = outside();
  }});
  ASSERT_EQ(report.steps, 300);
  ASSERT_GT(after_first, 0);
  EXPECT_LT(outside() - after_first, kMebibyte);
}

INSTANTIATE_TEST_SUITE_P(Runs, Growth, ::testing::Values("mlp", "resnet", "gpt"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tidemark::tests
