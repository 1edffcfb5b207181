#include "memory/recompute/step_trace.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "memory/recompute/schedule.h"

namespace tidemark::memory {
namespace {

// Two steps in a row; the second reads what the first makes.
StepTrace pair_of_steps() {
  StepTrace trace;
  trace.name = "pair";
  trace.values.resize(2);
  trace.values[0].bytes = 100;
  trace.values[1].bytes = 60;
  trace.steps.resize(2);
  trace.steps[0] = {5, true, 7, {}, {0}, "first"};
  trace.steps[1] = {6, true, 0, {0}, {1}, "second"};
  return trace;
}

std::string message_of(const StepTrace& trace) {
  try {
    validate(trace);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    return error.what();
  }
  return "no error";
}

TEST(StepTrace, PeakCountsWhatIsLiveAndWhatIsTakenOver) {
  StepTrace trace = pair_of_steps();
  EXPECT_EQ(plain_peak(trace).bytes, 160);
  EXPECT_EQ(plain_peak(trace).step, 1);
  trace.fixed_bytes = 1000;
  EXPECT_EQ(plain_peak(trace).bytes, 1160);
  trace.values[1].predecessor = 0;  // takes over: 100 bytes are enough for both
  EXPECT_EQ(plain_peak(trace).bytes, 1107);
  EXPECT_EQ(plain_peak(trace).step, 0);  // its workspace
  trace.values[0].live_at_end = true;    // then there is nothing to take over
  EXPECT_EQ(plain_peak(trace).bytes, 1160);
}

TEST(StepTrace, PersistentValuesTakeNoBytes) {
  StepTrace trace = pair_of_steps();
  trace.values[0].persistent = true;
  EXPECT_EQ(plain_peak(trace).bytes, 60);
  EXPECT_EQ(make_schedule(trace, {0, 1}).instances.size(), 1u);
}

TEST(StepTrace, LeastConceivablePeakCountsWhatCannotBeMadeAgain) {
  StepTrace trace = pair_of_steps();
  trace.values.resize(4);
  trace.values[2].bytes = 30;
  trace.values[3].bytes = 1;
  trace.steps.push_back({1, true, 0, {1}, {2}, "third"});
  trace.steps.push_back({1, true, 0, {0, 2}, {3}, "last"});
  EXPECT_EQ(least_conceivable_peak(trace).bytes, 160);  // the second step alone; the last needs 131
  trace.values[1].bytes = 10;
  EXPECT_EQ(least_conceivable_peak(trace).bytes, 131);
  trace.steps[0].may_run_twice = false;  // value 0 waits while the third step runs: 100 + 10 + 30
  EXPECT_EQ(least_conceivable_peak(trace).bytes, 140);
  EXPECT_EQ(least_conceivable_peak(trace).step, 2);
}

TEST(StepTrace, ArenaTraceHasCopiesWorkspacesAndAliasGroups) {
  StepTrace trace = pair_of_steps();
  trace.values[1].predecessor = 0;
  trace.values[1].alignment = 64;
  const Schedule schedule = make_schedule(trace, {0, 1});
  const Trace buffers = arena_trace(trace, schedule);
  ASSERT_EQ(buffers.buffers.size(), 3u);
  EXPECT_EQ(buffers.buffers[0].intervals.front(), (Interval{0, 2}));
  EXPECT_EQ(buffers.buffers[1].alignment, 64);
  EXPECT_EQ(buffers.buffers[0].alias_group, buffers.buffers[1].alias_group);
  EXPECT_TRUE(buffers.buffers[0].alias_group.has_value());
  EXPECT_EQ(buffers.buffers[2].category, Category::workspace);
  EXPECT_EQ(max_live_bytes(buffers), live_peak(trace, schedule).bytes);
}

TEST(StepTrace, FaultsNameTheStepOrValue) {
  StepTrace trace = pair_of_steps();
  EXPECT_EQ(message_of(trace), "no error");
  trace.steps[0].inputs = {1};
  EXPECT_EQ(message_of(trace), "pair: step 0 'first' reads value 1 '' before it is made");
  trace = pair_of_steps();
  trace.steps[1].inputs = {5};
  EXPECT_EQ(message_of(trace), "pair: step 1 'second' names value 5, there are 2");
  trace = pair_of_steps();
  trace.steps[1].outputs = {0};
  EXPECT_EQ(message_of(trace), "pair: value 0 '' is made by step 0 'first' and step 1 'second'");
  trace = pair_of_steps();
  trace.values[0].bytes = -4;
  EXPECT_EQ(message_of(trace), "pair: value 0 '' has bytes -4, which is negative");
  trace = pair_of_steps();
  trace.steps[0].cost = int64_t{1} << 60;
  EXPECT_EQ(message_of(trace), "pair: step 0 'first': the cost of all add up to more than 2^52");
  EXPECT_FALSE(has_plannable_sums(trace));
  trace = pair_of_steps();
  EXPECT_TRUE(has_plannable_sums(trace));
  trace.values[0].bytes = trace.values[1].bytes = int64_t{3} << 50;
  EXPECT_FALSE(has_plannable_sums(trace));
  EXPECT_NE(message_of(trace), "no error");
  trace = pair_of_steps();
  trace.steps[0].workspace_bytes = trace.steps[1].workspace_bytes = std::numeric_limits<int64_t>::max();
  EXPECT_FALSE(has_plannable_sums(trace));
  trace = pair_of_steps();
  trace.values[1].alignment = 3;
  EXPECT_EQ(message_of(trace), "pair: value 1 '' has alignment 3, which is no power of two");
  trace = pair_of_steps();
  trace.values[1].predecessor = 1;
  EXPECT_EQ(message_of(trace), "pair: value 1 '' has the predecessor 1, which is no input of step 1 'second'");
}

TEST(StepTrace, WhatWasOverwrittenIsNotRead) {
  StepTrace trace = pair_of_steps();
  trace.values[1].predecessor = 0;
  trace.values[1].reuse = Reuse::overwrites;
  trace.values.resize(3);
  trace.steps.push_back({1, true, 0, {0, 1}, {2}, "third"});
  EXPECT_EQ(message_of(trace), "pair: step 2 'third' reads value 0 '', which step 1 'second' overwrote");
  trace.steps[2].inputs = {1};
  trace.values[0].live_at_end = true;
  EXPECT_EQ(message_of(trace), "pair: value 0 '' is live at the end, but step 1 'second' overwrites it");
}

}  // namespace
}  // namespace tidemark::memory
