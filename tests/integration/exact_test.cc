// Promise 1: the planned peak is the measured one, byte for byte, and a run touches all of its plan and nothing above
// it.
#include <gtest/gtest.h>

#include <ostream>

#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

struct ExactCase {
  const char* model;
  const char* name;
  std::vector<std::string> overrides;
};

void PrintTo(const ExactCase& test, std::ostream* out) { *out << ::testing::PrintToString(test.overrides); }

class Exact : public ::testing::TestWithParam<ExactCase> {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, GetParam().model);
    overrides_ = GetParam().overrides;
    overrides_.insert(overrides_.end(),
                      {"checkpoint.dir=" + folder_ + "/run", "checkpoint.every=2", "train.eval_every=2"});
  }

  std::string folder_, config_;
  std::vector<std::string> overrides_;
};

TEST_P(Exact, PlannedIsWhatTheKernelCounts) {
  TinyRun tiny(config_, overrides_);
  EXPECT_EQ(tiny.device().committed_bytes(), 0) << "planning takes no memory";
  tiny.start();
  const train::RunReport report = tiny.train();
  EXPECT_EQ(report.steps, 6);
  EXPECT_GE(tiny.planned().planned_peak_bytes, 2 * tiny.device().granularity_bytes()) << "too small to tell anything";
  EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
  EXPECT_EQ(tiny.device().measured_bytes(), tiny.planned().planned_peak_bytes);
  EXPECT_EQ(tiny.device().peak_committed_bytes(), tiny.planned().planned_peak_bytes);
  EXPECT_EQ(report.alloc_calls_after_warmup, 0);
}

TEST_P(Exact, PoisonIsTouchedUpToThePlanAndNotAbove) {
  constexpr std::byte kPoison{0xA5};
  TinyRun tiny(config_, overrides_);
  tiny.allocate();
  tiny.run().arena().fill(kPoison);
  tiny.start();
  tiny.train();
  const int64_t touched = tiny.run().arena().highest_touched(kPoison);
  constexpr int64_t kAlignment = 64;
  EXPECT_LE(touched, tiny.program().arena_bytes);
  EXPECT_GT(touched, tiny.program().arena_bytes - kAlignment);
}

INSTANTIATE_TEST_SUITE_P(Runs, Exact,
                         ::testing::Values(ExactCase{"mlp", "whole", {}},                                  //
                                           ExactCase{"mlp", "accumulated", {"memory.micro_batch=8"}},      //
                                           ExactCase{"mlp", "clipped", {"train.clip_norm=1"}},             //
                                           ExactCase{"mlp", "grown", {"memory.growth=true"}},              //
                                           ExactCase{"resnet", "whole", {}},                               //
                                           ExactCase{"resnet", "accumulated", {"memory.micro_batch=16"}},  //
                                           ExactCase{"resnet", "clipped", {"train.clip_norm=1"}},          //
                                           ExactCase{"gpt", "whole", {}},                                  //
                                           ExactCase{
                                               "gpt", "accumulated", {"memory.micro_batch=16", "train.clip_norm=1"}}),
                         [](const auto& info) { return std::string(info.param.model) + "_" + info.param.name; });

}  // namespace
}  // namespace tidemark::tests
