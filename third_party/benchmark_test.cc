// Google Benchmark compiles with our warnings, links and measures.
#include <benchmark/benchmark.h>
#include <gtest/gtest.h>

namespace {

int runs = 0;

void CountRuns(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(++runs);
}

TEST(Benchmark, RunsWhatIsRegistered) {
  int argc = 2;
  char program[] = "benchmark_test", min_time[] = "--benchmark_min_time=0.001";
  char* argv[] = {program, min_time, nullptr};
  benchmark::RegisterBenchmark("CountRuns", CountRuns);
  benchmark::Initialize(&argc, argv);
  EXPECT_EQ(benchmark::RunSpecifiedBenchmarks(), 1u);
  EXPECT_GT(runs, 0);
}

}  // namespace
