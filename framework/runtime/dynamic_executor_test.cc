#include "framework/runtime/dynamic_executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <numeric>
#include <random>
#include <thread>

#include "base/error.h"
#include "framework/compile/unplaced_body.h"
#include "framework/testing/aligned_bytes.h"
#include "framework/testing/plain_allocator.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::runtime {
namespace {

std::span<const std::byte> bytes_of(const std::vector<float>& v) { return std::as_bytes(std::span(v)); }
std::span<std::byte> bytes_of(std::vector<float>& v) { return std::as_writable_bytes(std::span(v)); }

int64_t total(const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

// A branch, a workspace, a packed weight, accumulation in place:
//   h = scratch(x);  p = packed(h, w) = h + w;  gradient -= p (in place);  y = sum(double_it(p), x)
// so y = 3 x + 2 w, gradient' = gradient - x - w; with an update: w' = w - x.
class DynamicExecutorTest : public ::testing::Test {
 protected:
  compile::BodySpec body(int64_t elements, bool updates) {
    ++bodies_made_;
    const ValueType type{DType::f32, Shape{elements}};
    Graph graph("body");
    Builder b(graph, ops_.table());
    const ValueId x = b.external("x", type, Category::input, Scope::micro_batch);
    const ValueId w = b.parameter("w", type);
    const ValueId gradient = b.external("gradient", type, Category::gradients, Scope::step);
    const ValueId h = b.op("scratch", "h", {x});
    const ValueId p = b.op("packed", "p", {h, w});
    b.op("descend", "accumulate", {gradient, p});
    if (updates) b.op("descend", "update", {w, x});
    const ValueId y = b.op("sum", "y", {b.op("double_it", "d", {p}), x});
    b.result(y);
    return {"body", std::move(graph)};
  }

  // Rows of `elements` floats: state outside the body, its input and what comes out of it.
  struct State {
    explicit State(int64_t elements)
        : w(elements * 4), gradient(elements * 4), x(static_cast<size_t>(elements), 2.0F), y(x.size()) {
      std::fill_n(reinterpret_cast<float*>(w.data()), elements, 5.0F);
      std::fill_n(reinterpret_cast<float*>(gradient.data()), elements, 100.0F);
    }
    float first(const testing::AlignedBytes& b) const { return *reinterpret_cast<const float*>(b.data()); }
    testing::AlignedBytes w, gradient;
    std::vector<float> x, y;
  };

  void run(DynamicExecutor& executor, State& state, bool updates = false) {
    const auto elements = static_cast<int64_t>(state.x.size());
    BodyBindings bindings;
    bindings.placed = {{"unknown", nullptr}, {"w", state.w.data()}, {"gradient", state.gradient.data()}};
    bindings.inputs = {{"unused", {}}, {"x", bytes_of(std::as_const(state.x))}};
    bindings.outputs = {{"y", bytes_of(state.y)}};
    executor.run((updates ? "update[" : "body[") + std::to_string(elements) + "]",
                 [&] { return body(elements, updates); }, bindings);
  }

  ops::OpSet ops_ = testing::toy_ops();
  testing::PlainAllocator allocator_;
  int bodies_made_ = 0;
};

TEST_F(DynamicExecutorTest, FirstRunOnTheAllocatorThenPlannedWithTheSameResult) {
  DynamicExecutor executor(ops_, {}, allocator_);
  State state(64);
  run(executor, state);
  EXPECT_EQ(state.y, std::vector<float>(64, 16.0F));
  EXPECT_EQ(state.first(state.gradient), 93.0F);
  EXPECT_FALSE(executor.is_planned("body[64]"));
  EXPECT_EQ(allocator_.stats().live_blocks, 0);
  const int64_t blocks = allocator_.stats().allocations;
  EXPECT_GT(blocks, 3);

  for (int round = 2; round < 5; ++round) {
    run(executor, state);
    EXPECT_EQ(state.y, std::vector<float>(64, 16.0F));
    EXPECT_EQ(state.first(state.gradient), 100.0F - 7.0F * static_cast<float>(round));
    EXPECT_TRUE(executor.is_planned("body[64]"));
    EXPECT_EQ(allocator_.stats().allocations, blocks + round - 1);  // one a run
    EXPECT_EQ(allocator_.stats().live_blocks, 0);
  }
  EXPECT_EQ(bodies_made_, 1);
  EXPECT_EQ(executor.counts().unplanned_runs, 1);
  EXPECT_EQ(executor.counts().planned_runs, 3);
  EXPECT_EQ(executor.counts().plans, 1);
}

TEST_F(DynamicExecutorTest, UnplannedRunHoldsLiveBytesAlone) {
  DynamicExecutor executor(ops_, {}, allocator_);
  State state(64);
  run(executor, state);
  // At most: x beside h and its workspace, or x, h, packed w and p; d takes p's bytes, y takes d's or x's.
  EXPECT_EQ(allocator_.stats().allocated_peak_bytes, 4 * 256);
}

TEST_F(DynamicExecutorTest, EveryShapeIsABodyOfItsOwn) {
  DynamicExecutor executor(ops_, {}, allocator_);
  for (int64_t elements : {16, 32, 16, 48, 32}) {
    State state(elements);
    run(executor, state);
    EXPECT_EQ(state.y, std::vector<float>(static_cast<size_t>(elements), 16.0F));
  }
  EXPECT_EQ(executor.size(), 3U);
  EXPECT_EQ(executor.counts().unplanned_runs, 3);
  EXPECT_EQ(executor.counts().planned_runs, 2);
  EXPECT_EQ(executor.counts().plans, 2);
}

TEST_F(DynamicExecutorTest, BodyThatWasNotUsedForLongestGoes) {
  DynamicExecutor executor(ops_, {.cached_bodies = 2}, allocator_);
  for (int64_t elements : {16, 32, 16, 48}) {
    State state(elements);
    run(executor, state);
  }
  EXPECT_EQ(executor.size(), 2U);
  EXPECT_TRUE(executor.knows("body[16]"));
  EXPECT_FALSE(executor.knows("body[32]"));
  EXPECT_TRUE(executor.knows("body[48]"));
  EXPECT_EQ(executor.counts().forgotten, 1);
}

TEST_F(DynamicExecutorTest, FollowsWhatMoves) {
  DynamicExecutor executor(ops_, {}, allocator_);
  State a(64);
  run(executor, a);
  run(executor, a);
  State b(64);
  b.x.assign(64, 3.0F);
  run(executor, b);
  EXPECT_EQ(b.y, std::vector<float>(64, 19.0F));
  EXPECT_EQ(b.first(b.gradient), 92.0F);
  EXPECT_EQ(a.first(a.gradient), 86.0F);
}

TEST_F(DynamicExecutorTest, UpdatesOfTheRunArePlannedAtOnce) {
  DynamicExecutor executor(ops_, {}, allocator_);
  State state(64);
  run(executor, state, true);
  EXPECT_EQ(state.first(state.w), 3.0F);
  EXPECT_TRUE(executor.is_planned("update[64]"));
  EXPECT_EQ(allocator_.stats().allocations, 1);
}

TEST_F(DynamicExecutorTest, WhatIsTooWideInSingleBlocksIsPlannedAtOnce) {
  DynamicOptions options;
  options.page_bytes = 4096;
  options.room_bytes = 4096;
  DynamicExecutor executor(ops_, options, allocator_);
  State small(64), large(1024);
  run(executor, small);
  run(executor, large);
  EXPECT_FALSE(executor.is_planned("body[64]"));
  EXPECT_TRUE(executor.is_planned("body[1024]"));
  EXPECT_EQ(large.y, std::vector<float>(1024, 16.0F));
}

// Every request of both kinds of runs is refused once. CASE 7.
TEST_F(DynamicExecutorTest, RefusalLeavesNothingBehind) {
  for (const bool updates : {false, true}) {
    for (int64_t grants = 0;; ++grants) {
      DynamicExecutor executor(ops_, {}, allocator_);
      State state(64);
      allocator_.refuse_after(grants);
      bool refused = false;
      try {
        run(executor, state, updates);
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
        refused = true;
      }
      allocator_.allow();
      ASSERT_EQ(allocator_.stats().live_blocks, 0) << grants;
      ASSERT_EQ(allocator_.stats().allocated_bytes, 0) << grants;
      ASSERT_EQ(total(executor.live_bytes()), 0);
      if (!refused) {
        ASSERT_EQ(grants, updates ? 1 : 5);  // x, h, its workspace, packed w, p
        break;
      }
      EXPECT_EQ(state.first(state.w), 5.0F) << grants;
      std::fill_n(reinterpret_cast<float*>(state.gradient.data()), 64, 100.0F);  // as the step's begin does
      run(executor, state, updates);
      EXPECT_EQ(state.y, std::vector<float>(64, 16.0F)) << grants;
      EXPECT_EQ(state.first(state.gradient), 93.0F) << grants;
      EXPECT_EQ(state.first(state.w), updates ? 3.0F : 5.0F) << grants;
    }
  }
}

// The figures that a scrape would show at every request.
class WatchingAllocator : public testing::PlainAllocator {
 public:
  std::byte* allocate(const memory::AllocationRequest& request) override {
    std::byte* address = testing::PlainAllocator::allocate(request);
    if (executor != nullptr) seen.push_back(executor->live_bytes());
    return address;
  }
  const DynamicExecutor* executor = nullptr;
  std::vector<CategoryBytes> seen;
};

TEST_F(DynamicExecutorTest, LiveBytesAreThoseOfTheInstruction) {
  WatchingAllocator watching;
  DynamicExecutor executor(ops_, {}, watching);
  watching.executor = &executor;
  State state(64);
  run(executor, state);
  run(executor, state);
  ASSERT_GE(watching.seen.size(), 4U);
  for (const CategoryBytes& live : watching.seen) EXPECT_GT(live[static_cast<size_t>(Category::input)], 0);
  // Asked before the second instruction starts: x, h and its workspace.
  EXPECT_EQ(total(watching.seen[3]), 3 * 256);
  EXPECT_EQ(total(executor.live_bytes()), 0);
}

memory::Trace crowded_trace(uint64_t seed) {
  std::mt19937_64 random(seed);
  memory::Trace trace;
  for (int64_t i = 0; i < 40; ++i) {
    const auto begin = static_cast<int64_t>(random() % 30);
    const auto bytes = static_cast<int64_t>(1 + random() % 100), steps = static_cast<int64_t>(1 + random() % 12);
    trace.buffers.push_back({.id = i, .bytes = bytes, .intervals = {{begin, begin + steps}}});
  }
  return trace;
}

// Shapes are many, so plans are quick; one that is above what there is room for is worth a longer search.
TEST(PlanBlock, SearchesLongerWhereAQuickPlanHasNoRoom) {
  int found = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    compile::UnplacedBody body;
    body.trace = crowded_trace(seed);
    DynamicOptions options;
    options.planning_work_limit = 1;
    const int64_t quick = plan_block(body, options).peak_bytes;
    const int64_t best = memory::make_offset_planner(options.compile.planner)->minimize(body.trace, {}).peak_bytes;
    if (best == quick) continue;
    ++found;
    options.room_bytes = best;
    const memory::OffsetPlan plan = plan_block(body, options);
    EXPECT_LE(plan.peak_bytes, best) << "seed " << seed;
    EXPECT_EQ(memory::find_plan_fault(body.trace, plan), "") << "seed " << seed;
  }
  EXPECT_GT(found, 0) << "no trace of these tells quick plans from others";
}

// An exporter asks at any time, also while bodies go from the cache.
TEST_F(DynamicExecutorTest, LiveBytesCanBeReadFromAnotherThread) {
  DynamicExecutor executor(ops_, {.cached_bodies = 1}, allocator_);
  std::atomic<bool> done{false};
  int64_t most = 0, reads = 0;
  std::thread reader([&] {
    for (; !done || reads == 0; ++reads) most = std::max(most, total(executor.live_bytes()));
  });
  for (int round = 0; round < 200; ++round) {
    State state(16 + round % 3);
    run(executor, state);
    run(executor, state);
  }
  done = true;
  reader.join();
  EXPECT_LE(most, 4 * 18 * 4);
  EXPECT_EQ(executor.counts().forgotten, 199);
}

}  // namespace
}  // namespace tidemark::runtime
