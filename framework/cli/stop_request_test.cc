// What a signal says before there are steps. Each case raises it in a process of its own.
#include "framework/cli/stop_request.h"

#include <gtest/gtest.h>

#include <csignal>

namespace tidemark::cli {
namespace {

constexpr int kNone = -1;

// Tells of `done` of 2 measurements into `file` (kNone: of none), then raises SIGINT `signals` times.
void plan_and_raise(int done, const char* file, int signals) {
  PlanningInterrupt interrupt("tidemark plan");
  const auto tell = interrupt.listener([](const compile::Measuring&) {});
  for (int i = 0; i <= done; ++i) tell({.graph = "step", .node = "n", .done = i, .missing = 2, .file = file});
  for (int i = 0; i < signals; ++i) std::raise(SIGINT);
  std::exit(interrupt.stop()() ? 42 : 43);
}

const ::testing::ExitedWithCode kInterrupted(1);

TEST(PlanningInterrupt, EndsAPlanThatMeasuresNothing) {
  EXPECT_EXIT(plan_and_raise(kNone, "", 1), kInterrupted,
              "^tidemark plan: interrupted while planning; nothing was written\n$");
}

TEST(PlanningInterrupt, WaitsForTheMeasurementInHandOnce) {
  EXPECT_EXIT(plan_and_raise(0, "costs.json", 0), ::testing::ExitedWithCode(43), "");
  EXPECT_EXIT(plan_and_raise(1, "costs.json", 1), ::testing::ExitedWithCode(42), "^$") << "asked to stop, nothing said";
  EXPECT_EXIT(plan_and_raise(1, "costs.json", 2), kInterrupted,
              "^tidemark plan: interrupted while measuring; costs known a second ago are kept in costs.json, nothing "
              "else was written\n$");
}

TEST(PlanningInterrupt, EndsTheSearchThatFollowsAtOnce) {
  EXPECT_EXIT(plan_and_raise(2, "costs.json", 1), kInterrupted,
              "^tidemark plan: interrupted while planning; the costs measured so far are kept in costs.json, nothing "
              "else was written\n$");
  EXPECT_EXIT(plan_and_raise(2, "", 1), kInterrupted,
              "^tidemark plan: interrupted while planning; nothing was written\n$");
}

TEST(PlanningInterrupt, HandsTheSignalsBack) {
  EXPECT_EXIT(
      {
        { const PlanningInterrupt interrupt("tidemark plan"); }
        std::raise(SIGTERM);
      },
      ::testing::KilledBySignal(SIGTERM), "^$");
}

}  // namespace
}  // namespace tidemark::cli
