#include <gtest/gtest.h>

#include "memory/arena/offset_planner.h"

namespace tidemark::memory {
namespace {

// Two buffers that meet at step 1 and one that comes later.
Trace three() { return {"t", {Buffer{1, 10, 1, {{0, 2}}}, Buffer{2, 20, 4, {{1, 3}}}, Buffer{3, 5, 1, {{3, 4}}}}}; }

OffsetPlan good() {
  OffsetPlan plan;
  plan.offsets = {20, 0, 0};
  plan.peak_bytes = 30;
  plan.lower_bound_bytes = 30;
  plan.proven_optimal = true;
  return plan;
}

TEST(PlanCheck, AcceptsAValidPlan) { EXPECT_EQ(find_plan_fault(three(), good()), ""); }

TEST(PlanCheck, FindsEveryKindOfFault) {
  const auto fault_after = [](auto change) {
    OffsetPlan plan = good();
    change(plan);
    return find_plan_fault(three(), plan);
  };
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.offsets.pop_back(); }), "2 offsets for 3 buffers");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.offsets[0] = 19; }), "buffer 1 at [19, 29) overlaps buffer 2 at [0, 20)");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.offsets[2] = -1; }), "buffer 3 at [-1, 4) has no offset");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.offsets = {0, 10, 0}; }), "buffer 2 at [10, 30) is not aligned to 4");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.peak_bytes = 31; }), "peak is 30, the plan says 31");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.lower_bound_bytes = 31; }), "lower bound 31 is above the peak 30");
  EXPECT_EQ(fault_after([](OffsetPlan& p) { p.lower_bound_bytes = 29; }), "lower bound 29 differs from a proven peak");
  EXPECT_EQ(fault_after([](OffsetPlan& p) {
              p.lower_bound_bytes = 29;
              p.proven_optimal = false;
            }),
            "lower bound 29 is below the 30 live bytes of step 1");
}

TEST(PlanCheck, HoldsFixedOffsets) {
  Trace trace = three();
  trace.buffers[2].fixed_offset = 3;
  EXPECT_EQ(find_plan_fault(trace, good()), "buffer 3 at [0, 5) is not at its fixed offset 3");
}

TEST(PlanCheck, GroupsMayCoincideOnly) {
  Trace trace = three();
  trace.buffers[0].alias_group = trace.buffers[1].alias_group = 1;
  OffsetPlan plan = good();
  plan.offsets = {0, 0, 0};
  plan.peak_bytes = plan.lower_bound_bytes = 20;
  EXPECT_EQ(find_plan_fault(trace, plan), "");
  plan.offsets = {4, 0, 0};
  EXPECT_EQ(find_plan_fault(trace, plan), "buffer 1 at [4, 14) overlaps buffer 2 at [0, 20)");
}

TEST(PlanCheck, GapsAreFreeForOthers) {
  Trace trace = three();
  trace.buffers[0].intervals = {{0, 1}, {3, 4}};
  OffsetPlan plan = good();
  plan.offsets = {0, 0, 10};
  plan.peak_bytes = plan.lower_bound_bytes = 20;
  EXPECT_EQ(find_plan_fault(trace, plan), "");
}

}  // namespace
}  // namespace tidemark::memory
