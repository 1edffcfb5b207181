#include "memory/bench/arena_bench.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "memory/bench/step_generator.h"
#include "memory/bench/trace_variant.h"
#include "memory/trace/random_trace.h"
#include "memory/trace/trace_csv.h"

namespace tidemark::memory {
namespace {

Trace packing(uint64_t seed) { return generate_perfect_packing({seed, 25, 30, 500}); }

std::vector<std::pair<int64_t, int64_t>> shapes(const Trace& trace) {
  std::vector<std::pair<int64_t, int64_t>> result;
  for (const Buffer& buffer : trace.buffers) {
    result.emplace_back(buffer.bytes, buffer.intervals.back().end - buffer.intervals.front().begin);
  }
  std::sort(result.begin(), result.end());
  return result;
}

TEST(TraceVariant, IsTheSameProblem) {
  const Trace trace = random_trace({3, 30, 40, 100, 30, 0, 10, 20});
  EXPECT_EQ(make_variant(trace, 0).trace.buffers, trace.buffers);
  for (uint64_t number = 1; number < 8; ++number) {
    SCOPED_TRACE(number);
    const TraceVariant variant = make_variant(trace, number);
    EXPECT_NO_THROW(validate(variant.trace));
    EXPECT_NE(variant.trace.buffers, trace.buffers);
    EXPECT_EQ(variant.scale, (number & 2) != 0 ? 3 : 1);
    EXPECT_EQ(max_live_bytes(variant.trace), max_live_bytes(trace) * variant.scale);
    EXPECT_TRUE(variant.scale != 1 || shapes(variant.trace) == shapes(trace));
  }
}

TEST(TraceVariant, DoesNotScaleAlignedTraces) {
  Trace trace = packing(1);
  trace.buffers[0].alignment = 64;
  EXPECT_EQ(make_variant(trace, 2).scale, 1);
}

TEST(StepGenerator, MakesAStepThatOnlyTheUpdateDivides) {
  StepOptions options;
  options.buffers = 3000;
  const Trace trace = generate_step(options);
  EXPECT_NO_THROW(validate(trace));
  EXPECT_NEAR(static_cast<double>(trace.buffers.size()), 3000, 10);
  EXPECT_EQ(generate_step(options).buffers, trace.buffers);
  // The last step that something crosses, of those before the update phase.
  int64_t network_end = 0;
  size_t network = 0;
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.category == Category::workspace) continue;
    network_end = std::max(network_end, buffer.intervals[0].end);
    ++network;
  }
  EXPECT_NEAR(static_cast<double>(network) / 3000, 0.95, 0.03);
  std::vector<int> live(network_end + 1, 0);
  for (const Buffer& buffer : trace.buffers) {
    for (int64_t step = buffer.intervals[0].begin + 1; step < buffer.intervals[0].end && step < network_end; ++step) {
      ++live[step];
    }
  }
  // The very first block's temporaries come before anything is kept.
  EXPECT_EQ(std::count(live.begin() + 13, live.begin() + network_end, 0), 0);
}

TEST(PerfectPacking, EveryStepIsFull) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const Trace trace = packing(seed);
    const std::vector<ProfilePoint> profile = live_profile(trace);
    ASSERT_EQ(profile.size(), 2u);
    EXPECT_EQ(profile[0].bytes, 500);
    EXPECT_EQ(profile[1].step, 30);
  }
}

TEST(ArenaBench, MinimizesAndCountsVariants) {
  ArenaBenchOptions options;
  options.variants = 5;
  const ArenaBenchRow row = bench_trace(packing(2), options);
  EXPECT_EQ(row.lower_bound_bytes, 500);
  EXPECT_EQ(row.peak_bytes, 500);
  EXPECT_TRUE(row.proven_optimal);
  EXPECT_EQ(row.fits, std::nullopt);
  EXPECT_EQ(row.worst_peak_bytes, 500);
  EXPECT_EQ(row.variants_solved, 5);
  EXPECT_LE(row.least_cpu_seconds, row.cpu_seconds);
  EXPECT_LE(row.cpu_seconds, row.most_cpu_seconds);
  EXPECT_GT(row.cpu_seconds, 0);
}

TEST(ArenaBench, DecidesAboutACapacity) {
  ArenaBenchOptions options;
  options.capacity_bytes = 500;
  options.variants = 4;
  ArenaBenchRow row = bench_trace(packing(2), options);
  EXPECT_EQ(row.fits, true);
  EXPECT_EQ(row.variants_solved, 4);
  options.capacity_bytes = 499;
  for (bool minimize : {false, true}) {
    options.minimize = minimize;
    row = bench_trace(packing(2), options);
    EXPECT_EQ(row.fits, false);
    EXPECT_TRUE(row.proven_impossible);
    EXPECT_EQ(row.peak_bytes, minimize ? 500 : 0);
  }
}

TEST(ArenaBench, ReportsAsJson) {
  ArenaBenchOptions options;
  options.capacity_bytes = 499;
  const ArenaBenchReport report = summarize({bench_trace(packing(2), options)}, options);
  const auto json = nlohmann::json::parse(to_json(report));
  const auto& row = json.at("files").at(0);
  EXPECT_EQ(row.at("file"), "generated_packing_2");
  EXPECT_EQ(row.at("buffers"), static_cast<int64_t>(packing(2).buffers.size()));
  EXPECT_EQ(row.at("lower_bound"), 500);
  EXPECT_TRUE(row.at("peak").is_null());
  EXPECT_EQ(row.at("proven_optimal"), false);
  EXPECT_EQ(row.at("fits"), false);
  EXPECT_EQ(row.at("proven_impossible"), true);
  EXPECT_TRUE(row.at("cpu_seconds").is_number_float());
  EXPECT_EQ(json.at("capacity"), 499);
}

TEST(ArenaBench, ReportsAsTable) {
  const ArenaBenchOptions options;
  std::ostringstream out;
  print_table(summarize({bench_trace(packing(2), options)}, options), out);
  EXPECT_NE(out.str().find("lower bound"), std::string::npos);
  EXPECT_NE(out.str().find("generated_packing_2"), std::string::npos);
  EXPECT_NE(out.str().find("optimal\ntogether "), std::string::npos);
}

TEST(ArenaBench, ReadsFilesAndRefusesBadOnes) {
  const std::string path = testing::TempDir() + "/arena_bench_test.csv";
  {
    std::ofstream file(path);
    write_csv(packing(3), file);
  }
  EXPECT_TRUE(run_arena_bench({path}, {}).rows.at(0).proven_optimal);
  {
    std::ofstream file(path);
    file << "id,lower,upper,size\n1,0,4,-8\n";
  }
  try {
    run_arena_bench({path}, {});
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    EXPECT_EQ(error.what(), path + ":2: column 'size': '-8' must be > 0");
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace tidemark::memory
