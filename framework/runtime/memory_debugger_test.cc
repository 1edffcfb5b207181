#include "framework/runtime/memory_debugger.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "framework/compile/compile.h"
#include "framework/testing/aligned_bytes.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::runtime {
namespace {

const ValueType kType{DType::f32, Shape{64}};

class MemoryDebuggerTest : public ::testing::Test {
 protected:
  compile::Program compile_graph(Graph graph) {
    std::vector<compile::BodySpec> bodies;
    bodies.push_back({"body", std::move(graph), false});
    compile::CompileOptions options;
    options.debug_guards = true;
    return compile::compile(std::move(bodies), ops_, options);
  }

  // Text of the error that running under the debugger throws; empty if none.
  std::string run(const compile::Program& program) {
    testing::AlignedBytes arena(program.arena_bytes);
    MemoryDebugger debugger(program, arena.data());
    Executor executor(program, arena.data(), &debugger);
    try {
      for (int round = 0; round < 2; ++round) {
        for (const compile::Tensor& t : program.bodies[0].externals)
          std::fill_n(reinterpret_cast<float*>(executor.address(t)), t.type.shape.elements(), 1.0F);
        executor.run(0);
      }
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  // x -> OP -> y -> double_it -> z; z + y is the result, so y outlives z's making.
  Graph graph_with(const std::string& op) {
    Graph graph("debug");
    Builder b(graph, ops_.table());
    const ValueId x = b.external("x", kType, Category::input, Scope::micro_batch);
    const ValueId y = b.op(op, "suspect", {x});
    const ValueId z = b.op("double_it", "z", {y});
    b.result(b.op("sum", "total", {z, y}));
    return graph;
  }

  ops::OpSet ops_ = testing::toy_ops();
};

TEST_F(MemoryDebuggerTest, CleanProgramPasses) { EXPECT_EQ(run(compile_graph(graph_with("double_it"))), ""); }

TEST_F(MemoryDebuggerTest, WriteBehindATensorIsNamed) {
  const std::string error = run(compile_graph(graph_with("spill")));
  EXPECT_NE(error.find("'suspect' (op spill"), std::string::npos) << error;
  EXPECT_NE(error.find("wrote behind tensor 'suspect'"), std::string::npos) << error;
}

TEST_F(MemoryDebuggerTest, UnwrittenOutputIsNamed) {
  const std::string error = run(compile_graph(graph_with("forget")));
  EXPECT_NE(error.find("'suspect' (op forget"), std::string::npos) << error;
  EXPECT_NE(error.find("left dead bytes in 'suspect'"), std::string::npos) << error;
}

TEST_F(MemoryDebuggerTest, PlanThatGivesLiveBytesAwayIsNamed) {
  compile::Program program = compile_graph(graph_with("double_it"));
  // Move z onto y, which is still needed by the sum: what a planner without a validator might do.
  compile::Body& body = program.bodies[0];
  const auto value = [&](const char* name) { return body.graph.find_value(name); };
  const ValueId y = value("suspect"), z = value("z");
  const auto y_buffer = static_cast<size_t>(body.buffer_of_value[y.index()]);
  const auto z_buffer = static_cast<size_t>(body.buffer_of_value[z.index()]);
  body.plan.offsets[z_buffer] = body.plan.offsets[y_buffer];
  body.offset_of_value[z.index()] = body.offset_of_value[y.index()];
  for (compile::Instruction& i : body.instructions) {
    for (size_t k = 0; k < i.inputs.size(); ++k) i.inputs[k] = body.offset_of_value[i.input_values[k].index()];
    for (size_t k = 0; k < i.outputs.size(); ++k) i.outputs[k] = body.offset_of_value[i.output_values[k].index()];
  }
  body.trace.buffers[z_buffer].alias_group.reset();
  const std::string error = run(program);
  EXPECT_NE(error.find("use of 'suspect' by"), std::string::npos) << error;
  EXPECT_NE(error.find("outside its lifetime"), std::string::npos) << error;
  EXPECT_NE(error.find("belong to 'z'"), std::string::npos) << error;
}

TEST_F(MemoryDebuggerTest, ReadAfterTheEndOfALifetimeIsNamed) {
  compile::Program program = compile_graph(graph_with("double_it"));
  // Pretend that y dies before the sum reads it, as a wrong liveness would say.
  compile::Body& body = program.bodies[0];
  const auto y_buffer = static_cast<size_t>(body.buffer_of_value[body.graph.find_value("suspect").index()]);
  body.trace.buffers[y_buffer].intervals.back().end -= 1;
  const std::string error = run(program);
  EXPECT_NE(error.find("use of 'suspect' by 'total'"), std::string::npos) << error;
}

TEST_F(MemoryDebuggerTest, DeadRangesAreFilled) {
  const compile::Program program = compile_graph(graph_with("scratch"));
  testing::AlignedBytes arena(program.arena_bytes);
  MemoryDebugger debugger(program, arena.data());
  Executor executor(program, arena.data(), &debugger);
  const compile::Body& body = program.bodies[0];
  for (const compile::Tensor& t : body.externals)
    std::fill_n(reinterpret_cast<float*>(executor.address(t)), t.type.shape.elements(), 1.0F);
  executor.run(0);
  // After the body only the result is live: everything else of the body area holds the mark.
  const compile::Tensor& result = body.results[0];
  int64_t marked = 0;
  for (int64_t at = 0; at < program.arena_bytes; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, arena.data() + at, sizeof(word));
    marked += word == kDeadPattern;
  }
  EXPECT_EQ(marked * 4, program.arena_bytes - result.bytes() - 2 * body.guard_bytes);
}

}  // namespace
}  // namespace tidemark::runtime
