#include "framework/compile/kernel_timing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/thread_time.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr int64_t kElements = 256;
constexpr int64_t kOperandBytes = 2 * kElements * 4;  // of double_it: x and y
constexpr int64_t kWorkspaceBytes = 100;
constexpr int64_t kAmpleBytes = int64_t{1} << 30;

class Probe : public ops::Kernel {
 public:
  explicit Probe(std::function<void(const ops::KernelArgs&)> run) : run_(std::move(run)) {}
  int64_t workspace_bytes() const override { return kWorkspaceBytes; }
  void run(const ops::KernelArgs& args) const override { run_(args); }

 private:
  std::function<void(const ops::KernelArgs&)> run_;
};

class KernelTiming : public ::testing::Test {
 protected:
  // `run` instead of the kernel of a node of that op over x and, if it has two operands, x again.
  int64_t time(const char* op, std::function<void(const ops::KernelArgs&)> run, int64_t room_bytes = kAmpleBytes) {
    Graph graph("graph");
    Builder b(graph, ops_.table());
    const ValueType type{DType::f32, Shape{kElements}};
    std::vector<ValueId> inputs = {b.parameter("p", type)};
    if (op != std::string("double_it")) inputs.push_back(b.external("x", type, Category::input, Scope::micro_batch));
    b.op(op, "node", inputs);
    LoweredNode lowered;
    lowered.kernel = std::make_shared<Probe>(std::move(run));
    return time_kernel(graph, graph.node(graph.order()[0]), lowered, room_bytes);
  }

  size_t copies_within(int64_t room_bytes) {
    std::map<const void*, int> runs;  // by copy
    time(
        "double_it", [&](const ops::KernelArgs& args) { ++runs[args.inputs[0]]; }, room_bytes);
    for (const auto& [copy, count] : runs) EXPECT_GE(count, 2) << "touched first, then measured";
    return runs.size();
  }

  const ops::OpSet ops_ = testing::toy_ops();
};

TEST_F(KernelTiming, TakesTurnsOnAsManyCopiesAsThereIsRoomFor) {
  EXPECT_EQ(copies_within(kAmpleBytes), 6U);
  EXPECT_EQ(copies_within(kWorkspaceBytes + 3 * kOperandBytes - 1), 2U);
  EXPECT_EQ(copies_within(kWorkspaceBytes + kOperandBytes), 1U);
}

TEST_F(KernelTiming, IsRefusedWithoutRoomForOneCopy) {
  try {
    copies_within(kWorkspaceBytes + kOperandBytes - 1);
    FAIL() << "measured";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("'node' takes 2.1 KiB of host memory, 2.1 KiB can be had"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(KernelTiming, GivesOperandsAsInAStep) {
  time("descend", [&](const ops::KernelArgs& args) {
    EXPECT_EQ(args.outputs[0], args.inputs[0]) << "the update is in place";
    EXPECT_NE(args.inputs[0], args.inputs[1]);
    const auto* x = static_cast<const float*>(args.inputs[1]);
    EXPECT_TRUE(std::all_of(x, x + kElements, [](float v) { return std::abs(v) >= 0.5F && std::abs(v) < 1; }));
    EXPECT_TRUE(std::any_of(x, x + kElements, [](float v) { return v < 0; }));
    EXPECT_TRUE(std::any_of(x, x + kElements, [](float v) { return v > 0; }));
  });
}

// A neighbour, or the first touch of something, makes some runs dear; they are not what the kernel costs.
TEST_F(KernelTiming, TakesTheLeastOfRunsThatAgree) {
  constexpr double kDearSeconds = 2e-3;
  int runs = 0;
  const int64_t figure = time("double_it", [&](const ops::KernelArgs&) {
    const double begin = thread_cpu_seconds();
    while (runs % 2 == 0 && thread_cpu_seconds() - begin < kDearSeconds) continue;
    ++runs;
  });
  EXPECT_GE(figure, 1);
  EXPECT_LT(figure, static_cast<int64_t>(1e9 * kDearSeconds / 2));
  EXPECT_GE(runs, 6);
  EXPECT_LE(runs, 206);
}

}  // namespace
}  // namespace tidemark::compile
