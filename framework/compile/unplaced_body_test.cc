#include "framework/compile/unplaced_body.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr int64_t kBytes = 1024;
const ValueType kType{DType::f32, Shape{kBytes / 4}};

class UnplacedBodyTest : public ::testing::Test {
 protected:
  UnplacedBody compile(const std::vector<std::string>& placed = {}) {
    return compile_unplaced({graph_.name(), graph_}, placed, ops_, {});
  }

  static int64_t total(const CategoryBytes& bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}); }

  ops::OpSet ops_ = testing::toy_ops();
  Graph graph_{"body"};
  Builder builder_{graph_, ops_.table()};
};

TEST_F(UnplacedBodyTest, ChainTakesItsBytesOver) {
  ValueId x = builder_.external("x", kType, Category::input, Scope::micro_batch);
  for (int i = 0; i < 3; ++i) x = builder_.op("double_it", "d" + std::to_string(i), {x});
  builder_.result(x);
  const UnplacedBody body = compile();
  ASSERT_EQ(body.trace.buffers.size(), 4U);
  int taken = 0;
  for (int from : body.takes_over) taken += from >= 0;
  EXPECT_EQ(taken, 3);
  for (const CategoryBytes& live : body.live) EXPECT_EQ(total(live), kBytes);
  EXPECT_EQ(body.blocks_peak_bytes(1), kBytes);
  ASSERT_EQ(body.externals.size(), 1U);
  EXPECT_EQ(body.externals[0].bytes, kBytes);
  ASSERT_EQ(body.results.size(), 1U);
  EXPECT_GE(body.results[0].at.buffer, 0);
}

TEST_F(UnplacedBodyTest, PlacedValuesHaveNoBuffer) {
  const ValueId w = builder_.parameter("w", kType);
  const ValueId x = builder_.external("x", kType, Category::input, Scope::micro_batch);
  builder_.op("descend", "update", {w, x});
  const ValueId y = builder_.op("double_it", "y", {x});
  builder_.result(y);
  const UnplacedBody body = compile({"w", graph_.value(y).name, "not in this body"});
  ASSERT_EQ(body.placed.size(), 2U);
  EXPECT_EQ(body.placed[0].name, "w");
  EXPECT_EQ(body.trace.buffers.size(), 1U);  // x
  EXPECT_EQ(body.results[0].at.placed, 1);
  EXPECT_TRUE(body.updates_run_values);
}

TEST_F(UnplacedBodyTest, ValueOfTheRunNeedsAPlace) {
  const ValueId w = builder_.parameter("layer/w", kType);
  builder_.result(builder_.op("double_it", "y", {w}));
  try {
    compile();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("'layer/w'"), std::string::npos) << error.what();
  }
}

TEST_F(UnplacedBodyTest, LargeBlocksAreCountedInPagesSmallOnesTogether) {
  const ValueId x = builder_.external("x", kType, Category::input, Scope::micro_batch);
  builder_.result(builder_.op("scratch", "y", {x}));  // x, y and a workspace at once
  const UnplacedBody body = compile();
  EXPECT_FALSE(body.updates_run_values);
  EXPECT_EQ(body.blocks_peak_bytes(1), 3 * kBytes);
  EXPECT_EQ(body.blocks_peak_bytes(1536), 3 * 1536);    // above half a page
  EXPECT_EQ(body.blocks_peak_bytes(4096), 4096);        // small: share one
  EXPECT_EQ(body.blocks_peak_bytes(2 * kBytes), 4096);  // small: share two
}

}  // namespace
}  // namespace tidemark::compile
