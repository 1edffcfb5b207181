#include "memory/bench/allocator_bench.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>
#include <unordered_map>

#include "base/error.h"
#include "memory/bench/call_generators.h"
#include "memory/bench/peer_malloc.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

AllocatorBenchReport report_once() {
  AllocatorBenchReport report;
  report.options.repeats = 1;
  return report;
}

AllocatorBenchRow bench(const CallTrace& trace, AllocatorBenchOptions options = {.repeats = 1}) {
  AllocatorBenchReport report;
  report.options = options;
  bench_call_trace(trace, report);
  return report.rows.at(0);
}

TEST(PagesBound, RoundsLargeBlocksAloneAndSmallOnesTogether) {
  const auto alloc = [](int64_t id, int64_t bytes) { return AllocatorCall{id, bytes, Category::user}; };
  const auto free = [](int64_t id) { return AllocatorCall{id, 0, Category::user}; };
  // Pages of 100; from 50 on blocks are large.
  EXPECT_EQ(pages_bound({"", {alloc(0, 1), alloc(1, 49)}}, 100, 50), 100);
  EXPECT_EQ(pages_bound({"", {alloc(0, 50), alloc(1, 50)}}, 100, 50), 200);
  EXPECT_EQ(pages_bound({"", {alloc(0, 250), alloc(1, 1)}}, 100, 50), 400);
  EXPECT_EQ(pages_bound({"", {alloc(0, 250), free(0), alloc(0, 1)}}, 100, 50), 300);
}

TEST(CallGenerators, AreValidBoundedAndTheSameForTheSameSeed) {
  const CallGeneratorOptions options = {.seed = 3, .calls = 3000, .live_bytes = 32 * kMiB};
  for (const CallGenerator& generator : call_generators()) {
    const CallTrace trace = generator.generate(options);
    EXPECT_EQ(trace.calls, generator.generate(options).calls) << generator.name;
    EXPECT_NE(trace.calls, generator.generate({.seed = 4, .calls = 3000, .live_bytes = 32 * kMiB}).calls);
    std::stringstream text;
    write_call_trace(trace, text);
    EXPECT_EQ(read_call_trace(text, "t").calls, trace.calls) << generator.name << ": not a valid trace";
    std::unordered_map<int64_t, int64_t> live;
    int64_t sum = 0, peak = 0;
    for (const AllocatorCall& call : trace.calls) {
      sum += call.is_free() ? -live[call.id] : call.bytes;
      if (!call.is_free()) live[call.id] = call.bytes;
      peak = std::max(peak, sum);
    }
    EXPECT_EQ(sum, 0) << generator.name;
    EXPECT_LE(peak, options.live_bytes) << generator.name;
    EXPECT_GE(peak, options.live_bytes / 8) << generator.name;
    EXPECT_EQ(find_call_generator(generator.name), &generator);
  }
  EXPECT_EQ(find_call_generator("nobody"), nullptr);
}

TEST(AllocatorBench, PagesAreUsedWellAndNothingFailsThatFits) {
  for (const CallGenerator& generator : call_generators()) {
    const AllocatorBenchRow row = bench(generator.generate({.calls = 4000, .live_bytes = 48 * kMiB}));
    EXPECT_EQ(row.failures, 0) << row.trace;
    EXPECT_LE(row.peak_requested_bytes, row.peak_allocated_bytes);
    EXPECT_LE(row.peak_allocated_bytes, row.peak_reserved_bytes);
    EXPECT_GE(row.peak_reserved_bytes, row.peak_requested_bytes);
    if (row.trace != "small") {
      EXPECT_GE(row.large_utilization, 0.99) << row.trace;
    }
    EXPECT_GE(row.utilization, 0.5) << row.trace;
  }
}

TEST(AllocatorBench, ATightDeviceBreaksNoPromise) {
  for (const CallGenerator& generator : call_generators()) {
    const CallTrace trace = generator.generate({.seed = 9, .calls = 4000, .live_bytes = 48 * kMiB});
    const AllocatorBenchRow row = bench(trace, {.tight = true, .repeats = 1});
    EXPECT_EQ(row.broken_promises, 0) << row.trace;
    EXPECT_LE(row.peak_reserved_bytes, row.bound_bytes) << row.trace;
  }
}

TEST(AllocatorBench, RefusalsAreCounted) {
  CallTrace trace{"too much", {}};
  for (int64_t i = 0; i < 10; ++i) trace.calls.push_back({i, 4 * kMiB, Category::user});
  for (int64_t i = 0; i < 10; ++i) trace.calls.push_back({i, 0, Category::user});
  const AllocatorBenchRow row = bench(trace, {.limit_bytes = 20 * kMiB, .repeats = 1});
  EXPECT_EQ(row.failures, 5);
  EXPECT_EQ(row.broken_promises, 0);
  EXPECT_EQ(row.peak_reserved_bytes, 20 * kMiB);
}

TEST(AllocatorBench, PeersRunTheSameCalls) {
  const CallTrace trace = find_call_generator("small")->generate({.calls = 2000, .live_bytes = 8 * kMiB});
  const AllocatorBenchRow row = bench(trace, {.repeats = 1, .peers = {"glibc"}});
  ASSERT_EQ(row.peers.size(), 1u);
  EXPECT_EQ(row.peers[0].name, "glibc");
  EXPECT_GT(row.peers[0].ns_per_call, 0);
  EXPECT_THROW(PeerMalloc("/nowhere/libmalloc.so"), Error);
}

TEST(AllocatorBench, ReportsAreWhole) {
  AllocatorBenchReport report = report_once();
  bench_call_trace(find_call_generator("doubling")->generate({.calls = 500, .live_bytes = 16 * kMiB}), report);
  const auto json = nlohmann::json::parse(to_json(report));
  for (const char* key : {"peak_allocated", "peak_reserved", "bound", "utilization", "ns_per_call", "failures"}) {
    EXPECT_TRUE(json["traces"][0].contains(key)) << key;
  }
  std::ostringstream table;
  print_table(report, table);
  EXPECT_NE(table.str().find("doubling"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::memory
