// Recomputation inside the compiler: schedules become graphs that compute the same, within the arena's budget.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "framework/compile/compile.h"
#include "framework/compile/measured_costs.h"
#include "framework/compile/step_trace.h"
#include "framework/runtime/executor.h"
#include "framework/testing/aligned_bytes.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr int64_t kElements = 256;
constexpr int64_t kBytes = kElements * 4;
const ValueType kType{DType::f32, Shape{kElements}};

// Every instruction costs the same.
class UnitCosts : public Costs {
 public:
  int64_t nanoseconds(const Graph&, NodeId, const LoweredNode&) override { return 1; }
};

class RecomputeTest : public ::testing::Test {
 protected:
  // A chain x -> h0 -> h1 ... whose links are all read again on the way back, last first: y = ((x + h_n) + h_{n-1}) +
  // ...
  Graph there_and_back(int length, const ValueType& type = kType) {
    Graph graph("there_and_back");
    Builder b(graph, ops_.table());
    const ValueId x = b.external("x", type, Category::input, Scope::micro_batch);
    std::vector<ValueId> links;
    ValueId h = x;
    for (int i = 0; i < length; ++i) links.push_back(h = b.op("scratch", "h" + std::to_string(i), {h}));
    ValueId y = x;
    for (int i = length - 1; i >= 0; --i)
      y = b.op("sum", "back" + std::to_string(i), {y, links[static_cast<size_t>(i)]});
    b.result(y);
    return graph;
  }

  Program compile_within(Graph graph, int64_t budget_bytes, const std::string& planner, int64_t page_bytes = 1) {
    std::vector<BodySpec> bodies;
    bodies.push_back({"body", std::move(graph), false});
    CompileOptions options;
    options.recompute = planner;
    options.arena_budget_bytes = budget_bytes;
    options.budget_granularity_bytes = page_bytes;
    options.costs = &costs_;
    return compile(std::move(bodies), ops_, options);
  }

  static std::vector<float> run(const Program& program) {
    testing::AlignedBytes arena(program.arena_bytes);
    runtime::Executor executor(program, arena.data());
    auto* x = reinterpret_cast<float*>(executor.address(program.bodies[0].external("x")));
    for (int64_t i = 0; i < kElements; ++i) x[i] = 0.1F * static_cast<float>(i);
    executor.run(0);
    const auto* y = reinterpret_cast<const float*>(executor.address(program.bodies[0].results[0]));
    return {y, y + kElements};
  }

  const ops::OpSet ops_ = testing::toy_ops();
  UnitCosts costs_;
};

TEST_F(RecomputeTest, FewerBytesAndTheSameBits) {
  const Program plain = compile_within(there_and_back(12), 0, "none");
  const std::vector<float> want = run(plain);
  int64_t most_runs = 0;
  for (int64_t budget = plain.arena_bytes; budget >= 8 * kBytes; budget -= kBytes) {
    const Program program = compile_within(there_and_back(12), budget, "search");
    EXPECT_LE(program.arena_bytes, budget);
    EXPECT_EQ(run(program), want) << "budget " << budget;
    EXPECT_EQ(program.bodies[0].recomputation.further_runs > 0, budget < plain.arena_bytes);
    EXPECT_GE(program.bodies[0].recomputation.overhead, program.bodies[0].recomputation.overhead_lower_bound);
    most_runs = std::max(most_runs, program.bodies[0].recomputation.further_runs);
  }
  EXPECT_GT(most_runs, 3);
}

TEST_F(RecomputeTest, EveryPlannerKeepsTheBudgetOrRefuses) {
  const std::vector<float> want = run(compile_within(there_and_back(16), 0, "none"));
  for (const char* planner : {"search", "chain", "segment_sqrt", "dtr"}) {
    try {
      const Program program = compile_within(there_and_back(16), 13 * kBytes, planner);
      EXPECT_LE(program.arena_bytes, 13 * kBytes) << planner;
      EXPECT_EQ(run(program), want) << planner;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::out_of_memory) << planner << ": " << error.what();
    }
  }
}

TEST_F(RecomputeTest, ABudgetThatFitsChangesNothing) {
  const Program plain = compile_within(there_and_back(6), 0, "none");
  const Program same = compile_within(there_and_back(6), plain.arena_bytes, "search");
  EXPECT_EQ(same.bodies[0].recomputation.further_runs, 0);
  EXPECT_EQ(same.bodies[0].instructions.size(), plain.bodies[0].instructions.size());
}

TEST_F(RecomputeTest, OutOfReachNamesBothNumbersAndTheLeastBudget) {
  try {
    compile_within(there_and_back(6), kBytes, "search");
    FAIL() << "accepted";
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(text.find("budget is 1024"), std::string::npos) << text;
    EXPECT_NE(text.find("least budget"), std::string::npos) << text;
    EXPECT_NE(text.find("memory.micro_batch"), std::string::npos) << text;
  }
}

TEST_F(RecomputeTest, ARefusalNamesThePlannerUnlessItIsTheDefault) {
  for (const std::string planner : {"search", "chain", "dtr", "segment_sqrt"}) {
    try {
      compile_within(there_and_back(6), kBytes, planner);
      FAIL() << planner << " accepted";
    } catch (const BudgetRefusal& refusal) {
      const std::string text = refusal.what();
      const bool named =
          text.find("with recomputation by '" + planner + "' the least budget that works is ") != std::string::npos;
      EXPECT_EQ(named, planner != "search") << text;
      EXPECT_EQ(text.find("set memory.recompute: auto, raise memory.budget") != std::string::npos, named) << text;
    }
  }
}

TEST_F(RecomputeTest, BytesThatNoDeviceHasAreAPlanAboveTheBudgetAndNoBadData) {
  const ValueType huge{DType::f32, Shape{int64_t{1} << 49}};
  const Program program = compile_within(there_and_back(6, huge), int64_t{1} << 30, "search");
  EXPECT_GT(program.arena_bytes, int64_t{1} << 52);
  EXPECT_EQ(program.bodies[0].recomputation.further_runs, 0);
}

// Case: the refusal of a budget named another that was refused as well.
TEST_F(RecomputeTest, TheLeastBudgetThatIsNamedWorksAndOnePageLessDoesNot) {
  for (const int64_t page : {kBytes, int64_t{3000}}) {
    int64_t least = 0;
    for (const int64_t budget : {kBytes, 3 * kBytes}) {
      try {
        compile_within(there_and_back(10), budget / page * page + (budget < page ? 1 : 0), "search", page);
        FAIL() << "accepted " << budget;
      } catch (const BudgetRefusal& refusal) {
        EXPECT_EQ(refusal.least_budget_bytes() % page, 0);
        EXPECT_NE(
            std::string(refusal.what())
                .find("the least budget that works is " + std::to_string(refusal.least_budget_bytes()) + " bytes"),
            std::string::npos)
            << refusal.what();
        EXPECT_TRUE(least == 0 || least == refusal.least_budget_bytes()) << "one figure for all that are refused";
        least = refusal.least_budget_bytes();
      }
    }
    EXPECT_LE(compile_within(there_and_back(10), least, "search", page).arena_bytes, least);
    try {
      compile_within(there_and_back(10), least - page, "search", page);
      FAIL() << "page " << page << ": " << least - page << " works too";
    } catch (const BudgetRefusal& refusal) {
      EXPECT_EQ(refusal.least_budget_bytes(), least);
    }
  }
}

TEST_F(RecomputeTest, ARefusalSpeaksForAllBodies) {
  std::vector<BodySpec> bodies;
  bodies.push_back({"short", there_and_back(3), false});
  bodies.push_back({"long", there_and_back(9), false});
  CompileOptions options;
  options.recompute = "search";
  options.arena_budget_bytes = kBytes;
  options.budget_granularity_bytes = kBytes;
  options.costs = &costs_;
  const auto least_of = [&](int length) {
    try {
      compile_within(there_and_back(length), kBytes, "search", kBytes);
    } catch (const BudgetRefusal& refusal) {
      return refusal.least_budget_bytes();
    }
    return int64_t{0};
  };
  try {
    compile(std::move(bodies), ops_, options);
    FAIL() << "accepted";
  } catch (const BudgetRefusal& refusal) {
    EXPECT_EQ(refusal.least_budget_bytes(), std::max(least_of(3), least_of(9)));
    EXPECT_NE(std::string(refusal.what()).find("program/long"), std::string::npos) << refusal.what();
  }
}

// A body without instructions still needs the parameters' bytes.
TEST_F(RecomputeTest, AnEmptyBodyIsRefusedBelowTheRunSegment) {
  Graph update("update");
  Builder b(update, ops_.table());
  const ValueId p = b.parameter("p", kType);
  b.op("descend", "p/update", {p, b.external("g", kType, Category::input, Scope::micro_batch)});
  std::vector<BodySpec> bodies;
  bodies.push_back({"update", std::move(update), false});
  bodies.push_back({"checkpoint", Graph("checkpoint"), false});
  CompileOptions options;
  options.recompute = "search";
  options.arena_budget_bytes = kBytes / 2;
  options.costs = &costs_;
  try {
    compile(std::move(bodies), ops_, options);
    FAIL() << "accepted";
  } catch (const BudgetRefusal& refusal) {
    EXPECT_EQ(refusal.least_budget_bytes(), 2 * kBytes);
  }
}

TEST_F(RecomputeTest, CostsAreSummedOverAllRuns) {
  std::vector<BodySpec> bodies;
  bodies.push_back({"body", there_and_back(12), false});
  CompileOptions options;
  options.costs = &costs_;
  EXPECT_EQ(compile(std::move(bodies), ops_, options).bodies[0].cost_nanoseconds, std::nullopt) << "only where asked";
  bodies.clear();
  bodies.push_back({"body", there_and_back(12), false});
  options.cost_sum = CostSum::measured;
  options.recompute = "search";
  options.arena_budget_bytes = 9 * kBytes;
  const Body body = compile(std::move(bodies), ops_, options).bodies[0];
  EXPECT_GT(body.recomputation.further_runs, 0);
  EXPECT_EQ(body.cost_nanoseconds, static_cast<int64_t>(body.instructions.size()));
  for (const Instruction& i : body.instructions) EXPECT_EQ(i.cost_nanoseconds, 1) << i.node;
}

// A kernel that is measured by mistake costs seconds.
class CountedCosts : public UnitCosts {
 public:
  std::optional<int64_t> known(const Graph&, NodeId, const LoweredNode&) override {
    return prepared_ ? std::optional<int64_t>(1) : std::nullopt;
  }
  void prepare(const Graph&, const LoweredNodes&) override { prepared_ = true; }
  bool prepared() const { return prepared_; }

 private:
  bool prepared_ = false;
};

TEST_F(RecomputeTest, CostsAreMeasuredOnlyWhereThePlainBodyDoesNotFitOrAllAreAskedFor) {
  using Case = std::pair<int64_t, bool>;  // budget, and whether all costs are asked for
  for (const auto& [budget, all] :
       {Case(0, false), Case(100 * kBytes, false), Case(100 * kBytes, true), Case(9 * kBytes, false)}) {
    const bool asks = all || budget == 9 * kBytes;
    std::vector<BodySpec> bodies;
    bodies.push_back({"small", there_and_back(2), false});
    bodies.push_back({"body", there_and_back(12), false});
    bodies.push_back({"evaluate", there_and_back(2), false, false});
    CountedCosts costs;
    CompileOptions options;
    options.costs = &costs;
    options.recompute = "search";
    options.arena_budget_bytes = budget;
    options.prepares_all_costs = all;
    options.cost_sum = CostSum::known;
    const Program program = compile(std::move(bodies), ops_, options);
    EXPECT_EQ(costs.prepared(), asks) << budget;
    for (const char* name : {"small", "body"})
      EXPECT_EQ(program.body(name).cost_nanoseconds.has_value(), asks) << budget << " " << name;
    EXPECT_EQ(program.body("evaluate").cost_nanoseconds, std::nullopt);
  }
}

// Two further runs of one node: the second copy stands on the first's name, readers take the latest one.
TEST_F(RecomputeTest, ScheduleBecomesCopiesThatReadersTake) {
  Graph graph = there_and_back(2);
  LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  // h0 h1 | h1 again, back1 | h0 again, back0
  EXPECT_EQ(apply_schedule(graph, lowered, {0, 1, 1, 2, 0, 3}), 2);
  std::vector<std::string> names;
  for (NodeId id : graph.order()) names.push_back(graph.node(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"h0", "h1", "h1/again", "back1", "h0/again", "back0"}));
  EXPECT_EQ(graph.value(graph.node(graph.order()[3]).inputs[1]).name, "h1/again");
  EXPECT_EQ(graph.value(graph.node(graph.order()[5]).inputs[1]).name, "h0/again");
}

TEST_F(RecomputeTest, UpdatesInPlaceAreNeverRepeated) {
  Graph graph("update");
  Builder b(graph, ops_.table());
  const ValueId p = b.parameter("p", kType);
  const ValueId g = b.op("double_it", "g", {b.external("x", kType, Category::input, Scope::micro_batch)});
  b.op("descend", "p/update", {p, g});
  b.result(g);
  const LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  const memory::StepTrace trace = step_trace_of(graph, ops_.table(), lowered, costs_, {});
  EXPECT_TRUE(trace.steps[0].may_run_twice);
  EXPECT_FALSE(trace.steps[1].may_run_twice);
  EXPECT_TRUE(trace.values[p.index()].persistent);
  EXPECT_TRUE(trace.values[g.index()].live_at_end);
}

class MeasuredCostsTest : public RecomputeTest {
 protected:
  std::string path_ = (std::filesystem::path(::testing::TempDir()) / "costs" /
                       ::testing::UnitTest::GetInstance()->current_test_info()->name() / "costs.json")
                          .string();
  void SetUp() override { std::filesystem::remove_all(std::filesystem::path(path_).parent_path()); }
};

TEST_F(MeasuredCostsTest, AreMeasuredOnceAndKept) {
  Graph graph = there_and_back(3);
  const LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  MeasuredCosts first(path_, 1);
  std::vector<int64_t> figures;
  for (NodeId id : graph.order()) figures.push_back(first.nanoseconds(graph, id, lowered.at(id)));
  EXPECT_EQ(first.measured(), 2) << "three links of one kind and three sums of one kind";
  for (int64_t f : figures) EXPECT_GE(f, 1);
  first.save();
  MeasuredCosts second(path_, 1);
  for (size_t i = 0; i < figures.size(); ++i)
    EXPECT_EQ(second.nanoseconds(graph, graph.order()[i], lowered.at(graph.order()[i])), figures[i]);
  EXPECT_EQ(second.measured(), 0);
  EXPECT_EQ(second.digest(), first.digest());
  MeasuredCosts more_threads(path_, 2);
  more_threads.nanoseconds(graph, graph.order()[0], lowered.at(graph.order()[0]));
  EXPECT_EQ(more_threads.measured(), 1) << "the thread count is part of the key";
}

TEST_F(MeasuredCostsTest, PreparingTellsHowFarItIs) {
  Graph graph = there_and_back(3);
  const LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  MeasuredCosts costs(path_, 1);
  EXPECT_EQ(costs.known(graph, graph.order()[0], lowered.at(graph.order()[0])), std::nullopt);
  EXPECT_EQ(sum_costs(graph, lowered, costs, false), std::nullopt);
  EXPECT_EQ(costs.measured(), 0);
  std::vector<std::string> told;
  costs.on_measuring([&](const Measuring& now) {
    told.push_back(std::string(now.graph) + " " + std::string(now.node) + " " + std::to_string(now.done) + "/" +
                   std::to_string(now.missing));
  });
  const auto sum = sum_costs(graph, lowered, costs, true);
  EXPECT_EQ(told,
            (std::vector<std::string>{"there_and_back h0 0/2", "there_and_back back2 1/2", "there_and_back  2/2"}));
  EXPECT_EQ(sum_costs(graph, lowered, costs, false), sum);
  EXPECT_EQ(costs.known(graph, graph.order()[0], lowered.at(graph.order()[0])),
            costs.nanoseconds(graph, graph.order()[0], lowered.at(graph.order()[0])));
  told.clear();
  costs.prepare(graph, lowered);
  EXPECT_TRUE(told.empty()) << "nothing is missing";
}

TEST_F(MeasuredCostsTest, FiguresOfAnOlderVersionAreMeasuredAnew) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  std::ofstream(path_) << R"({"format": "tidemark-costs-1", "nanoseconds": {"a": 1}})";
  Graph graph = there_and_back(2);
  const LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  MeasuredCosts costs(path_, 1);
  costs.nanoseconds(graph, graph.order()[0], lowered.at(graph.order()[0]));
  EXPECT_EQ(costs.measured(), 1);
  costs.save();
  EXPECT_EQ(MeasuredCosts(path_, 1).digest(), costs.digest()) << "the old figure is gone";
}

TEST_F(MeasuredCostsTest, OperandsNeverTakeMoreThanThereIs) {
  Graph graph = there_and_back(2);
  const LoweredNodes lowered = lower(graph, ops_, ops::KernelDevice::cpu, 1);
  const NodeId node = graph.order()[0];
  int64_t bytes = lowered.at(node).kernel->workspace_bytes();
  for (const auto* values : {&graph.node(node).inputs, &graph.node(node).outputs})
    for (ValueId v : *values) bytes += graph.value(v).type.bytes();
  MeasuredCosts enough("", 1, [&] { return bytes; });
  EXPECT_GE(enough.nanoseconds(graph, node, lowered.at(node)), 1);
  MeasuredCosts short_of_one("", 1, [&] { return bytes - 1; });
  try {
    short_of_one.nanoseconds(graph, node, lowered.at(node));
    FAIL() << "measured beyond what there is";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(error.what()).find("--estimate"), std::string::npos) << error.what();
  }
  EXPECT_EQ(short_of_one.measured(), 0);
}

TEST_F(MeasuredCostsTest, ADamagedFileIsRefusedByName) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  for (const char* text : {"", "{}", "[1]", "{\"format\": \"tidemark-costs-2\", \"nanoseconds\": {\"a\": -1}}",
                           "{\"format\": \"tidemark-costs-2\", \"nanoseconds\": {\"a\": 1.5}}",
                           "{\"format\": \"tidemark-costs-2\", \"nanoseconds\": {\"a\": 9223372036854775807}}"}) {
    std::ofstream(path_) << text;
    try {
      MeasuredCosts costs(path_, 1);
      FAIL() << "accepted " << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::data);
      EXPECT_NE(std::string(error.what()).find(path_), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace tidemark::compile
