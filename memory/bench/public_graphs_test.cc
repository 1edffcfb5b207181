// The public graphs of the literature, where a copy is at hand: TIDEMARK_PLANNER_DATA names the folder that holds
// recompute/*.json. The figures are optima for the graphs' order, as an integer program proves them; medians over
// relabelled copies, to 0.005 points. Generous times; `tidemark bench recompute` measures.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "memory/bench/recompute_bench.h"
#include "memory/recompute/graph_json.h"

namespace tidemark::memory {
namespace {

class PublicGraphs : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("TIDEMARK_PLANNER_DATA");
    if (folder == nullptr) GTEST_SKIP() << "TIDEMARK_PLANNER_DATA is not set";
    folder_ = std::string(folder) + "/recompute/";
    if (!std::filesystem::is_directory(folder_)) GTEST_SKIP() << folder_ << " is absent";
  }

  StepTrace read(const std::string& graph) const { return read_graph_json(folder_ + graph + ".json"); }

  std::string folder_;
};

struct Optimum {
  const char* graph;
  const char* budget;
  double overhead_percent;
};

TEST_F(PublicGraphs, KnownOptimaAreFound) {
  const Optimum optima[] = {
      {"vgg16", "0.95", 0.7742},
      {"vgg16", "0.9", 1.9677},
      {"vgg19", "0.9", 0.1042},
      {"vgg19", "0.86", 2.6347},
      {"vgg19", "0.8", 2.7559},
      {"fcn_8_vgg", "0.8", 0.1361},
      {"fcn_8_vgg", "0.7", 0.8915},
      {"mobilenet", "0.9", 0.1635},
      {"mobilenet", "0.86", 0.2098},
      {"mobilenet", "0.7", 0.6262},
      {"mobilenet", "0.6", 1.0674},
      {"mobilenet", "0.5", 1.6350},
      {"resnet50", "0.95", 0.0592},
      {"resnet50", "0.9", 0.1085},
      {"resnet50", "0.86", 0.1787},
      {"resnet50", "0.8", 0.2786},
      {"resnet50", "0.7", 0.5645},
      {"resnet50", "0.5", 1.4988},
      {"random_layered_n100", "0.9", 0.7892},
      {"random_layered_n250", "0.95", 0.4571},
  };
  for (const Optimum& optimum : optima) {
    SCOPED_TRACE(std::string(optimum.graph) + " at " + optimum.budget);
    RecomputeBenchReport report;
    report.options.budgets = {{optimum.budget}};
    report.options.variants = 5;
    report.options.offset_planner = "";
    bench_step_trace(read(optimum.graph), report);
    const RecomputeBenchRow& row = report.rows.front();
    EXPECT_TRUE(row.reached);
    EXPECT_NEAR(100 * row.median_overhead, optimum.overhead_percent, 0.005);
    EXPECT_LE(100 * row.overhead_lower_bound, optimum.overhead_percent + 1e-4);
    EXPECT_LT(row.cpu_seconds, 0.1);
  }
}

TEST_F(PublicGraphs, TheArenaCostsNothingExtraOnNets) {
  for (const char* graph : {"mobilenet", "resnet50"}) {
    SCOPED_TRACE(graph);
    RecomputeBenchReport report;
    report.options.budgets = {{"0.8"}, {"0.3"}};
    bench_step_trace(read(graph), report);
    for (const RecomputeBenchRow& row : report.rows) {
      EXPECT_GT(row.arena_peak_bytes, 0);
      EXPECT_LE(row.arena_peak_bytes, row.budget_bytes);
      EXPECT_LE(100 * row.arena_overhead, 100 * row.overhead + 0.2);
    }
  }
}

}  // namespace
}  // namespace tidemark::memory
