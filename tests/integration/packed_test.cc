// Packed data: every batch has a shape of its own, and the promises are those of all other runs.
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "tests/integration/resident.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

using Overrides = std::vector<std::string>;

class Packed : public ::testing::Test {
 protected:
  TinyResult train(const Overrides& overrides = {}) { return train_tiny(config_, overrides); }

  const std::string folder_ = test_folder();
  const std::string config_ = write_tiny_config(folder_, "lstm");
};

// Counts requests that come while nobody works.
struct CallsOutside {
  class Allocator : public memory::AllocatorDecorator {
   public:
    Allocator(memory::Allocator& below, CallsOutside& calls) : AllocatorDecorator(below), calls_(calls) {}
    std::byte* allocate(const memory::AllocationRequest& request) override {
      calls_.outside += !calls_.works;
      return AllocatorDecorator::allocate(request);
    }

   private:
    CallsOutside& calls_;
  };

  explicit CallsOutside(const bool& now) : works(now) {}
  const bool& works;
  int64_t outside = 0;
};

TEST_F(Packed, PlannedIsMeasuredAndNothingIsAskedForAfterTheFirstStep) {
  TinyRun tiny(config_, {"train.steps=40", "train.eval_every=7"});
  EXPECT_EQ(tiny.device().alloc_calls(), 0);
  tiny.start();
  const train::RunReport report = tiny.train();
  EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
  EXPECT_EQ(tiny.device().peak_committed_bytes(), tiny.planned().planned_peak_bytes);
  EXPECT_EQ(report.alloc_calls_after_warmup, 0);
  EXPECT_LT(report.losses.back(), report.losses.front());
  EXPECT_GT(tiny.run().dynamic()->counts().unplanned_runs, 0);
  EXPECT_GT(tiny.run().dynamic()->counts().planned_runs, 0);
  EXPECT_EQ(tiny.run().allocator()->stats().allocated_bytes, 0) << "between steps nothing is held";
  EXPECT_LE(tiny.run().allocator()->stats().allocated_peak_bytes, tiny.planned().block_bytes);
}

// Bodies of old shapes go, and with them what oneDNN compiled for them.
TEST_F(Packed, HostMemoryOfItsShapesIsBounded) {
  TinyRun tiny(config_, {"train.steps=500", "train.eval_every=100"});
  tiny.start();
  const auto outside = [&] { return resident_bytes() - tiny.device().measured_bytes(); };
  int64_t first = 0, middle = 0;
  tiny.train({.at_step_boundary = [&] {
    if (tiny.trainer().steps_done() == 1) first = outside();
    if (tiny.trainer().steps_done() == 250) middle = outside();
  }});
  EXPECT_GT(tiny.run().dynamic()->counts().forgotten, 50);
  EXPECT_LT(middle - first, 24 << 20);
  EXPECT_LT(outside() - middle, 1 << 20);
}

TEST_F(Packed, WithoutGrowthAllIsThereBeforeStepOne) {
  TinyRun tiny(config_, {"memory.growth=false"});
  tiny.start();
  EXPECT_EQ(tiny.device().committed_bytes(), tiny.planned().planned_peak_bytes);
  // Case: a first step without small blocks left the addresses of theirs to a later one.
  const int64_t calls = tiny.device().alloc_calls();
  EXPECT_EQ(tiny.train().measured_peak_bytes, tiny.planned().planned_peak_bytes);
  EXPECT_EQ(tiny.device().alloc_calls(), calls);
}

TEST_F(Packed, BoundIsThatOfTheLongestLines) {
  const TinyRun tiny(config_);
  const train::BatchPlan& batch = tiny.planned().batch;
  EXPECT_EQ(batch.train_rows, data::most_rows(*tiny.planned().dataset, data::Split::train, 32));
  const std::string widest = "micro_batch[32x" + std::to_string(batch.train_rows) + "]";
  EXPECT_NE(tiny.program().find_body(widest), nullptr);
  EXPECT_EQ(tiny.program().bodies[tiny.program().peak_body].name, widest);
}

TEST_F(Packed, BudgetOneByteBelowTheBoundIsRefusedBeforeStepOne) {
  const int64_t bound = TinyRun(config_).planned().planned_peak_bytes;
  TinyRun fits(config_, {"memory.budget=" + std::to_string(bound)});
  EXPECT_NO_THROW(train::check_budget(fits.planned(), fits.budget()));
  fits.start();
  EXPECT_EQ(fits.train().measured_peak_bytes, bound);
  TinyRun refused(config_, {"memory.budget=" + std::to_string(bound - 1)});
  try {
    train::check_budget(refused.planned(), refused.budget());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("memory.micro_batch"), std::string::npos) << error.what();
  }
  EXPECT_EQ(refused.device().alloc_calls(), 0);
}

TEST_F(Packed, SameBitsAgainAndResumed) {
  const Overrides steps = {"train.steps=14", "train.eval_every=5"};
  const TinyResult reference = train(steps);
  EXPECT_EQ(train(steps).losses, reference.losses);

  Overrides saved = steps;
  saved.push_back("checkpoint.dir=" + folder_ + "/run");
  saved.push_back("checkpoint.every=4");
  std::atomic<bool> stop{false};
  TinyRun first(config_, saved);
  first.start();
  train::RunOptions options;
  options.stop = &stop;
  options.at_step_boundary = [&] { stop = first.trainer().steps_done() == 6; };
  std::vector<double> losses = first.train(options).losses;
  ASSERT_EQ(losses.size(), 6U);

  TinyRun second(config_, saved);
  second.start(true);
  const train::RunReport rest = second.train();
  EXPECT_EQ(rest.first_step, 6);
  losses.insert(losses.end(), rest.losses.begin(), rest.losses.end());
  EXPECT_EQ(losses, reference.losses);
  EXPECT_EQ(second.parameters_sha256(), reference.parameters_sha256);
  EXPECT_EQ(rest.measured_peak_bytes, second.planned().planned_peak_bytes);
}

TEST_F(Packed, TwoThreadsGiveTheSameBitsEveryTime) {
  const TinyResult one = train({"train.threads=2"});
  EXPECT_EQ(train({"train.threads=2"}).parameters_sha256, one.parameters_sha256);
  const TinyResult single = train();
  for (size_t i = 0; i < single.losses.size(); ++i)
    EXPECT_NEAR(one.losses[i], single.losses[i], 1e-4 * single.losses[i]) << i;
}

TEST_F(Packed, MicroBatchesChangeTheOrderOfSumsAlone) {
  const TinyResult whole = train(), parts = train({"memory.micro_batch=8"}), odd = train({"memory.micro_batch=5"});
  EXPECT_NEAR(parts.losses[0], whole.losses[0], 1e-6 * whole.losses[0]);
  EXPECT_NEAR(odd.losses[0], whole.losses[0], 1e-6 * whole.losses[0]);
  EXPECT_NEAR(parts.report.eval->loss, whole.report.eval->loss, 1e-3);
}

TEST_F(Packed, WatchedMemoryChangesNoBit) {
  EXPECT_EQ(train({"memory.debug=true"}).parameters_sha256, train().parameters_sha256);
}

// Case: with memory.idle_release, pages that a step did not use went while it computed, and were missed at the end.
TEST_F(Packed, StepsAreWorkAndWhatIsGivenBackBetweenThemWasMeasured) {
  TinyRun tiny(config_, {"train.eval_every=3"});
  bool works = false;
  int64_t begun = 0;
  memory::Allocator* allocator = nullptr;
  CallsOutside calls(works);
  tiny.allocate([&](memory::Allocator& below) {
    auto decorated = std::make_unique<CallsOutside::Allocator>(below, calls);
    allocator = decorated.get();
    return decorated;
  });
  tiny.start();
  train::RunOptions options;
  options.works = [&](bool now) {
    EXPECT_NE(now, works);
    works = now;
    begun += now;
  };
  options.at_step_boundary = [&] { allocator->trim(0); };
  const train::RunReport report = tiny.train(options);
  EXPECT_EQ(begun, 6 + 2) << "steps and evaluations";
  EXPECT_FALSE(works);
  EXPECT_EQ(calls.outside, 0);
  EXPECT_LT(tiny.device().measured_bytes(), tiny.planned().planned_peak_bytes);
  EXPECT_EQ(report.measured_peak_bytes, tiny.planned().planned_peak_bytes);
}

TEST_F(Packed, MoreSamplesThanRowNumbersAreRefused) {
  try {
    TinyRun tiny(config_, {"train.global_batch=1048577"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("train.global_batch 1048577"), std::string::npos) << error.what();
  }
}

TEST_F(Packed, WhatIsMadeForOneArenaIsRefusedForIt) {
  try {
    TinyRun tiny(config_, {"memory.recompute=chain"});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("memory.recompute"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tidemark::tests
