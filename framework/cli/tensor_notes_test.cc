#include "framework/cli/tensor_notes.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "framework/compile/compile.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::cli {
namespace {

const ValueType kType{DType::f32, Shape{256}};

// Every instruction costs 7 ns.
class EqualCosts : public compile::Costs {
 public:
  int64_t nanoseconds(const Graph&, NodeId, const compile::LoweredNode&) override { return 7; }
};

class TensorNotes : public ::testing::Test {
 protected:
  ValueId input(Builder& b) { return b.external("x", kType, Category::input, Scope::micro_batch); }

  // The only tensor that the name means.
  static TensorNote note(const compile::Program& program, const compile::Body& body, const std::string& name) {
    const std::vector<TensorNote> notes = notes_of_tensors(program, body, {name});
    EXPECT_EQ(notes.size(), 1U) << name;
    return notes.at(0);
  }

  const ops::OpSet ops_ = testing::toy_ops();
};

TEST_F(TensorNotes, TellWhereAndHowLong) {
  Graph graph("body");
  Builder b(graph, ops_.table());
  const ValueId x = input(b), first = b.op("scratch", "copy", {x}), second = b.op("double_it", "twice", {first});
  b.result(b.op("scratch", "end", {b.op("sum", "sum", {x, second})}));
  std::vector<compile::BodySpec> bodies;
  bodies.push_back({"body", std::move(graph), false});
  const compile::Program program = compile::compile(std::move(bodies), ops_, {});
  const compile::Body& body = program.bodies[0];

  const auto expect = [&](const char* name, size_t first_instruction, size_t last_instruction, int64_t offset) {
    const TensorNote told = note(program, body, name);
    EXPECT_EQ(told.first, first_instruction) << name;
    EXPECT_EQ(told.last, last_instruction) << name;
    EXPECT_EQ(told.offset, offset) << name;
    EXPECT_EQ(told.bytes, kType.bytes()) << name;
    EXPECT_FALSE(told.is_kept_beyond_body) << name;
    EXPECT_EQ(told.runs_again, 0) << name;
  };
  const auto& instructions = body.instructions;
  ASSERT_EQ(instructions.size(), 4U);
  expect("x", 0, 2, instructions[0].inputs[0]);
  expect("copy", 0, 1, instructions[0].outputs[0]);
  expect("twice", 1, 2, instructions[1].outputs[0]);
  expect("end", 3, 3, instructions[3].outputs[0]);
  expect("end/workspace", 3, 3, instructions[3].workspace);
  EXPECT_EQ(note(program, body, "twice").in_place_of, "copy");
  EXPECT_EQ(note(program, body, "end/workspace").category, Category::workspace);
}

// The gradient is there while a micro-batch runs, the momentum always, whether the body looks at them or not.
TEST_F(TensorNotes, HaveTheSegmentsThatABodyKeepsOutOf) {
  std::vector<compile::BodySpec> specs;
  for (const std::string name : {"micro_batch", "update", "evaluate"}) {
    Graph graph(name);
    Builder b(graph, ops_.table());
    const bool updates = name == "update";
    ValueId y = b.op("sum", "y", {b.parameter("p", kType), input(b)});
    if (updates) y = b.op("sum", "with_gradient", {y, b.external("g", kType, Category::gradients, Scope::step)});
    if (updates) y = b.op("sum", "with_momentum", {y, b.external("m", kType, Category::optimizer, Scope::run)});
    b.result(y);
    specs.push_back({name, std::move(graph), name != "evaluate"});
  }
  const compile::Program program = compile::compile(std::move(specs), ops_, {});
  for (const compile::Body& body : program.bodies) {
    for (const char* name : {"p", "m"}) {
      const TensorNote told = note(program, body, name);
      EXPECT_TRUE(told.is_kept_beyond_body) << name << " in " << body.name;
      EXPECT_EQ(told.offset, program.persistent_tensor(name).offset) << name << " in " << body.name;
      EXPECT_EQ(told.last, body.instructions.size() - 1) << name << " in " << body.name;
    }
  }
  EXPECT_TRUE(note(program, program.bodies[0], "g").is_kept_beyond_body);
  EXPECT_THROW(notes_of_tensors(program, program.body("evaluate"), {"g"}), Error) << "its bytes are the body's";
}

// x -> h0 -> h1 ... and back over all of them, in fewer bytes than they have together.
TEST_F(TensorNotes, CountEveryFurtherRunOfATensor) {
  constexpr int kLength = 12;
  Graph graph("there_and_back");
  Builder b(graph, ops_.table());
  const ValueId x = input(b);
  std::vector<ValueId> links = {x};
  for (int i = 0; i < kLength; ++i) links.push_back(b.op("scratch", "h" + std::to_string(i), {links.back()}));
  ValueId y = x;
  for (int i = kLength; i > 0; --i) y = b.op("sum", "back" + std::to_string(i), {y, links[static_cast<size_t>(i)]});
  b.result(y);
  std::vector<compile::BodySpec> bodies;
  bodies.push_back({"body", std::move(graph), false});
  EqualCosts costs;
  const compile::Program program = compile::compile(std::move(bodies), ops_,
                                                    {.recompute = "search",
                                                     .arena_budget_bytes = 6 * kType.bytes(),
                                                     .costs = &costs,
                                                     .cost_sum = compile::CostSum::measured});
  const compile::Body& body = program.bodies[0];
  int64_t runs = 0, most = 0;
  for (int i = 0; i < kLength; ++i) {
    const std::string name = "h" + std::to_string(i);
    const std::vector<TensorNote> notes = notes_of_tensors(program, body, {name});
    const TensorNote& first = notes[0];
    EXPECT_EQ(first.name, name);
    EXPECT_EQ(first.made_again, "");
    ASSERT_EQ(notes.size(), 1U + static_cast<size_t>(first.runs_again)) << name << " and its further runs";
    for (size_t n = 1; n < notes.size(); ++n) {
      EXPECT_EQ(notes[n].made_again, name);
      EXPECT_GT(notes[n].first, notes[n - 1].last) << "let go in between";
    }
    EXPECT_EQ(first.runs_again_nanoseconds, first.runs_again == 0 ? std::nullopt : std::optional(7 * first.runs_again));
    runs += first.runs_again;
    most = std::max(most, first.runs_again);
  }
  EXPECT_EQ(runs, body.recomputation.further_runs);
  EXPECT_GT(most, 1) << "no case";
}

}  // namespace
}  // namespace tidemark::cli
