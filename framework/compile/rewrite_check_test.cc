// Every kind of damage to a rewritten body is found.
#include "framework/compile/rewrite_check.h"

#include <gtest/gtest.h>

#include "framework/compile/compile.h"
#include "framework/compile/liveness.h"
#include "framework/compile/step_trace.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr int64_t kBytes = 1024;
const ValueType kType{DType::f32, Shape{256}};

class UnitCosts : public Costs {
 public:
  int64_t nanoseconds(const Graph&, NodeId, const LoweredNode&) override { return 1; }
};

class RewriteCheck : public ::testing::Test {
 protected:
  void SetUp() override {
    body_.graph = Graph("body");
    Builder b(body_.graph, ops_.table());
    const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
    const ValueId w = b.parameter("w", kType);
    std::vector<ValueId> links{b.op("packed", "h0", {x, w})};
    for (int i = 1; i < 8; ++i) links.push_back(b.op("scratch", "h" + std::to_string(i), {links.back()}));
    ValueId y = x;
    for (int i = 7; i >= 0; --i) y = b.op("sum", "back" + std::to_string(i), {y, links[static_cast<size_t>(i)]});
    b.result(y);
    lowered_ = lower(body_.graph, ops_, ops::KernelDevice::cpu, 1);
    trace_ = step_trace_of(body_.graph, ops_.table(), lowered_, costs_, {});
    plan_ = memory::make_recompute_planner("search")->plan(trace_, 8 * kBytes, {});
    ASSERT_GT(apply_schedule(body_.graph, lowered_, plan_.schedule.steps), 0);
    body_.trace = find_liveness(body_.graph, lowered_, {}).trace;
    body_.plan = memory::make_offset_planner("portfolio")->minimize(body_.trace, {});
  }

  std::string fault() const { return find_rewrite_fault(trace_, plan_, body_, lowered_, ops_.table()); }
  void expect_fault(const std::string& text) const {
    EXPECT_NE(fault().find(text), std::string::npos) << "found: " << fault();
  }

  const ops::OpSet ops_ = testing::toy_ops();
  UnitCosts costs_;
  Body body_;
  LoweredNodes lowered_;
  memory::StepTrace trace_;
  memory::RecomputePlan plan_;
};

TEST_F(RewriteCheck, FindsNothingWrongWithARightBody) { EXPECT_EQ(fault(), ""); }

TEST_F(RewriteCheck, FindsAStepThatNeverRuns) {
  plan_.schedule.steps.pop_back();
  expect_fault("schedule: ");
}

TEST_F(RewriteCheck, FindsAReadBeforeTheValueIsMade) {
  std::vector<NodeId> order = body_.graph.order();
  std::swap(order[1], order[2]);  // h0 and its reader h1
  body_.graph.set_order(order);
  expect_fault("before it is produced");
}

TEST_F(RewriteCheck, FindsAPackedOperandOfAnotherSize) {
  const ValueId other = body_.graph.add_value({.id = {}, .name = "other", .type = {DType::u8, Shape{12}}});
  body_.graph.replace_input(body_.graph.order()[1], 1, other);
  expect_fault("its kernel wants u8[1024]");
}

TEST_F(RewriteCheck, FindsAReaderOfTheWrongType) {
  const Node& last = body_.graph.node(body_.graph.order().back());
  body_.graph.mutable_value(last.outputs[0]).type.shape = Shape{255};
  expect_fault("recorded is f32[255]");
}

TEST_F(RewriteCheck, FindsOffsetsThatOverlap) {
  for (int64_t& offset : body_.plan.offsets) offset = 0;
  expect_fault("offsets: ");
}

}  // namespace
}  // namespace tidemark::compile
