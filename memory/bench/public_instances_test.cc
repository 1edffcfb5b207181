// The public instances of the literature, where a copy is at hand: TIDEMARK_PLANNER_DATA names the folder that holds
// arena/*.csv. Generous limits; `tidemark bench arena` measures.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "memory/bench/arena_bench.h"
#include "memory/trace/trace_csv.h"

namespace tidemark::memory {
namespace {

class PublicInstances : public testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("TIDEMARK_PLANNER_DATA");
    if (folder == nullptr) GTEST_SKIP() << "TIDEMARK_PLANNER_DATA is not set";
    folder_ = std::string(folder) + "/arena/";
    if (!std::filesystem::is_directory(folder_)) GTEST_SKIP() << folder_ << " is absent";
  }

  ArenaBenchRow bench(const std::string& file, const ArenaBenchOptions& options) const {
    return bench_trace(read_csv_file(folder_ + file), options);
  }

  std::string folder_;
};

TEST_F(PublicInstances, MiniMallocSetFitsIntoItsCapacity) {
  for (char name = 'A'; name <= 'K'; ++name) {
    SCOPED_TRACE(name);
    ArenaBenchOptions options;
    options.capacity_bytes = 1048576;
    options.variants = 8;
    const ArenaBenchRow row = bench(std::string(1, name) + ".1048576.csv", options);
    EXPECT_EQ(row.variants_solved, 8);
    EXPECT_LT(row.cpu_seconds, 0.2);
  }
}

TEST_F(PublicInstances, NineOfThemHaveTheirKnownOptimum) {
  for (char name : std::string("ABCEFGHIK")) {
    SCOPED_TRACE(name);
    const ArenaBenchRow row = bench(std::string(1, name) + ".1048576.csv", {});
    EXPECT_EQ(row.peak_bytes, name == 'C' ? 1039360 : 1048576);
    EXPECT_TRUE(row.proven_optimal);
  }
}

TEST_F(PublicInstances, TrainingStepsReachMaxLive) {
  const ArenaBenchRow resnet = bench("somas_resnet50.csv", {});
  EXPECT_EQ(resnet.peak_bytes, 1515472556);
  EXPECT_LT(resnet.cpu_seconds, 0.1);
  ArenaBenchOptions options;
  options.check = false;
  const ArenaBenchRow pangu = bench("somas_pangu_2.6B.csv", options);
  EXPECT_EQ(pangu.peak_bytes, 5530099775);
  EXPECT_LT(pangu.cpu_seconds, 1.5);
}

}  // namespace
}  // namespace tidemark::memory
