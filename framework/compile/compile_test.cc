#include "framework/compile/compile.h"

#include <gtest/gtest.h>

#include <numeric>

#include "base/error.h"
#include "framework/compile/whole_arena.h"
#include "framework/runtime/executor.h"
#include "framework/testing/aligned_bytes.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr int64_t kElements = 256;  // 1 KiB a value
constexpr int64_t kBytes = kElements * 4;
const ValueType kType{DType::f32, Shape{kElements}};

class CompileTest : public ::testing::Test {
 protected:
  Program compile_one(Graph graph, CompileOptions options = {}, bool shares = false) {
    std::vector<BodySpec> bodies;
    std::string name = graph.name();
    bodies.push_back({name, std::move(graph), shares});
    return compile(std::move(bodies), ops_, options);
  }

  // Fills an external with `value`, runs the body, gives the first element of the first result.
  float run(const Program& program, const std::map<std::string, float>& values) {
    testing::AlignedBytes arena(program.arena_bytes);
    runtime::Executor executor(program, arena.data());
    const Body& body = program.bodies[0];
    const auto fill = [&](const Tensor& tensor) {
      auto* data = reinterpret_cast<float*>(executor.address(tensor));
      std::fill(data, data + tensor.type.shape.elements(), values.at(tensor.name));
    };
    for (const Tensor& t : program.persistent) fill(t);
    for (const Tensor& t : body.externals) fill(t);
    executor.run(0);
    return *reinterpret_cast<float*>(executor.address(body.results[0]));
  }

  ops::OpSet ops_ = testing::toy_ops();
};

TEST_F(CompileTest, ChainInPlaceNeedsOneBuffer) {
  Graph graph("chain");
  Builder b(graph, ops_.table());
  ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  for (int i = 0; i < 5; ++i) x = b.op("double_it", "d" + std::to_string(i), {x});
  b.result(x);
  const Program program = compile_one(std::move(graph));
  EXPECT_EQ(program.arena_bytes, kBytes);
  EXPECT_EQ(program.lower_bound_bytes, kBytes);
  EXPECT_EQ(run(program, {{"x", 1.0F}}), 32.0F);
  for (const CategoryBytes& live : program.bodies[0].live)
    EXPECT_EQ(std::accumulate(live.begin(), live.end(), int64_t{0}), kBytes);
}

TEST_F(CompileTest, InputWithALaterReaderIsNotOverwritten) {
  Graph graph("residual");
  Builder b(graph, ops_.table());
  const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  const ValueId y = b.op("double_it", "branch", {x});
  b.result(b.op("sum", "residual", {x, y}));
  const Program program = compile_one(std::move(graph));
  EXPECT_EQ(program.arena_bytes, 2 * kBytes);
  EXPECT_EQ(run(program, {{"x", 1.0F}}), 3.0F);
}

TEST_F(CompileTest, BothInputsDyingShareOnlyOne) {
  Graph graph("sum");
  Builder b(graph, ops_.table());
  const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  const ValueId y = b.external("y", kType, Category::input, Scope::micro_batch);
  b.result(b.op("sum", "s", {x, y}));
  const Program program = compile_one(std::move(graph));
  EXPECT_EQ(program.arena_bytes, 2 * kBytes);
  EXPECT_EQ(run(program, {{"x", 1.0F}, {"y", 5.0F}}), 6.0F);
}

TEST_F(CompileTest, WorkspaceIsPlannedForItsInstructionOnly) {
  Graph graph("scratch");
  Builder b(graph, ops_.table());
  const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  const ValueId y = b.op("scratch", "a", {x});
  b.result(b.op("scratch", "b", {y}));
  const Program program = compile_one(std::move(graph));
  EXPECT_EQ(program.arena_bytes, 3 * kBytes);
  EXPECT_EQ(program.peak_categories[static_cast<size_t>(Category::workspace)], kBytes);
  EXPECT_EQ(run(program, {{"x", 7.0F}}), 7.0F);
}

TEST_F(CompileTest, PackedInputIsMadeRightBeforeItsReader) {
  Graph graph("packed");
  Builder b(graph, ops_.table());
  const ValueId w = b.parameter("w", kType);
  ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  x = b.op("double_it", "d", {x});
  b.result(b.op("packed", "p", {x, w}));
  const Program program = compile_one(std::move(graph));
  ASSERT_EQ(program.bodies[0].instructions.size(), 3U);
  EXPECT_EQ(program.bodies[0].instructions[1].op, "pack");
  EXPECT_EQ(program.peak_categories[static_cast<size_t>(Category::packed)], kBytes);
  EXPECT_EQ(run(program, {{"x", 1.0F}, {"w", 10.0F}}), 12.0F);
}

// Three parameters whose gradients are made one after the other.
Graph three_updates(const OpTable& ops) {
  Graph graph("updates");
  Builder b(graph, ops);
  const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  std::vector<std::pair<ValueId, ValueId>> pairs;
  for (const char* name : {"p0", "p1", "p2"}) {
    const ValueId p = b.parameter(name, kType);
    pairs.emplace_back(p, b.op("sum", std::string(name) + "/gradient", {x, p}));
  }
  for (const auto& [p, g] : pairs) b.op("descend", graph.value(p).name + "/update", {p, g});
  b.result(x);
  return graph;
}

TEST_F(CompileTest, UpdatesAsSoonAsPossibleLowerThePeak) {
  CompileOptions at_end;
  at_end.updates_at_end = true;
  const Program soon = compile_one(three_updates(ops_.table()));
  const Program late = compile_one(three_updates(ops_.table()), at_end);
  EXPECT_EQ(soon.arena_bytes, 3 * kBytes + 2 * kBytes) << "parameters, x, one gradient";
  EXPECT_EQ(late.arena_bytes, 3 * kBytes + 4 * kBytes) << "parameters, x, three gradients";
}

TEST_F(CompileTest, UpdateWaitsForReadersOfTheOldVersion) {
  Graph graph("reader");
  Builder b(graph, ops_.table());
  const ValueId p = b.parameter("p", kType);
  const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
  const ValueId g = b.op("double_it", "g", {x});
  const ValueId read = b.op("sum", "late_reader", {p, g});
  b.op("descend", "p/update", {p, g});
  b.result(read);
  const Program program = compile_one(std::move(graph));
  EXPECT_EQ(program.bodies[0].instructions.back().op, "descend");
  EXPECT_EQ(run(program, {{"p", 1.0F}, {"x", 2.0F}}), 5.0F);
}

TEST_F(CompileTest, SegmentsKeepTheirPlaceOverBodies) {
  const auto body = [&](const char* name, bool with_momentum) {
    Graph graph(name);
    Builder b(graph, ops_.table());
    const ValueId p = b.parameter("p", kType);
    const ValueId g = b.external("p/gradient", kType, Category::gradients, Scope::step);
    ValueId y = b.op("sum", "y", {p, g});
    if (with_momentum) y = b.op("sum", "z", {y, b.external("m", kType, Category::optimizer, Scope::run)});
    b.result(y);
    return graph;
  };
  std::vector<BodySpec> specs;
  specs.push_back({"a", body("a", false), true});
  specs.push_back({"b", body("b", true), true});
  const Program program = compile(std::move(specs), ops_, {});
  EXPECT_EQ(program.run_segment_bytes, 2 * kBytes);
  EXPECT_EQ(program.step_segment_bytes, kBytes);
  EXPECT_EQ(program.bodies[0].external("p/gradient").offset, program.bodies[1].external("p/gradient").offset);
  EXPECT_EQ(program.persistent_tensor("p").offset, 0);
  EXPECT_EQ(program.bodies[0].base, 3 * kBytes);
  EXPECT_EQ(program.arena_bytes, 4 * kBytes);
}

TEST_F(CompileTest, BodyOutsideTheStepReusesTheStepSegment) {
  std::vector<BodySpec> specs;
  for (const bool shares : {true, false}) {
    Graph graph(shares ? "micro_batch" : "evaluate");
    Builder b(graph, ops_.table());
    const ValueId p = b.parameter("p", kType);
    const ValueId x = shares ? b.external("p/gradient", kType, Category::gradients, Scope::step)
                             : b.external("x", kType, Category::input, Scope::micro_batch);
    b.result(b.op("sum", "y", {p, x}));
    std::string name = graph.name();
    specs.push_back({name, std::move(graph), shares});
  }
  const Program program = compile(std::move(specs), ops_, {});
  EXPECT_EQ(program.body("evaluate").base, kBytes) << "above the parameters";
  EXPECT_EQ(program.body("micro_batch").base, 2 * kBytes) << "above parameters and gradients";
}

TEST_F(CompileTest, BodiesThatDisagreeOnATypeAreRefused) {
  std::vector<BodySpec> specs;
  for (const int64_t n : {4, 8}) {
    Graph graph("body" + std::to_string(n));
    Builder b(graph, ops_.table());
    b.result(b.op("double_it", "y", {b.parameter("p", {DType::f32, Shape{n}})}));
    std::string name = graph.name();
    specs.push_back({name, std::move(graph), false});
  }
  try {
    compile(std::move(specs), ops_, {});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    EXPECT_NE(std::string(error.what()).find("'p' is f32[8] in body 'body8'"), std::string::npos) << error.what();
  }
}

// The planner's own validator sees the body area only; this one sees segments and body together.
TEST_F(CompileTest, WholeArenaIsAValidPlan) {
  for (const bool guards : {false, true}) {
    CompileOptions options;
    options.debug_guards = guards;
    const Program program = compile_one(three_updates(ops_.table()), options);
    WholeArena whole = whole_arena(program, program.bodies[0]);
    EXPECT_EQ(memory::find_plan_fault(whole.trace, whole.plan), "");
    whole.plan.offsets.back() = 0;
    whole.trace.buffers.back().alias_group.reset();
    EXPECT_NE(memory::find_plan_fault(whole.trace, whole.plan), "") << "the check sees a body buffer on a weight";
  }
}

TEST_F(CompileTest, TensorsAtThePeakAreNamedLargestFirst) {
  const Program program = compile_one(three_updates(ops_.table()));
  const auto tensors = program.tensors_at_peak(10);
  ASSERT_EQ(tensors.size(), 5U);
  int64_t sum = 0;
  for (const PeakTensor& t : tensors) sum += t.bytes;
  EXPECT_EQ(sum, program.arena_bytes);
}

}  // namespace
}  // namespace tidemark::compile
