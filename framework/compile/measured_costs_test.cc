// Two that measure into one file, figures of a measurement that ends early, and files that cannot be written.
#include "framework/compile/measured_costs.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "base/error.h"
#include "framework/testing/toy_ops.h"
#include "graph/builder.h"

namespace tidemark::compile {
namespace {

constexpr std::chrono::seconds kPatience{10};

class CostFileOfTwoTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    std::ofstream(folder_ / "file") << "no folder";
    Builder b(graph_, ops_.table());
    const ValueType type{DType::f32, Shape{256}};
    const ValueId x = b.external("x", type, Category::input, Scope::micro_batch);
    b.result(b.op("sum", "y", {x, b.op("scratch", "h", {x})}));
    lowered_ = lower(graph_, ops_, ops::KernelDevice::cpu, 1);
  }

  const std::filesystem::path folder_ = std::filesystem::path(::testing::TempDir()) / "measured_costs" /
                                        ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path_ = (folder_ / "costs.json").string();
  const std::string nowhere_ = (folder_ / "file" / "costs.json").string();
  const ops::OpSet ops_ = testing::toy_ops();
  Graph graph_{"two"};
  LoweredNodes lowered_;
};

// The second begins while the first measures, and both saw an empty file.
TEST_F(CostFileOfTwoTest, TheSecondWaitsAndTakesTheFiguresOfTheFirst) {
  MeasuredCosts first(path_, 1), second(path_, 1);
  std::promise<void> waits;
  second.on_waiting([&](pid_t) { waits.set_value(); });
  second.on_measuring([](const Measuring& now) { ADD_FAILURE() << "measured " << now.node << " again"; });
  std::future<void> done;
  first.on_measuring([&](const Measuring& now) {
    if (now.done > 0) return;
    done = std::async(std::launch::async, [&] { second.prepare(graph_, lowered_); });
    EXPECT_EQ(waits.get_future().wait_for(kPatience), std::future_status::ready) << "the second did not wait";
  });
  first.prepare(graph_, lowered_);
  done.get();
  EXPECT_EQ(first.measured(), 2);
  EXPECT_EQ(second.measured(), 0);
  EXPECT_EQ(second.digest(), first.digest());
  EXPECT_EQ(MeasuredCosts(path_, 1).digest(), first.digest()) << "the file holds what both rest on";
}

// Dies where it cannot clean up, longer than a second after the first figure.
TEST_F(CostFileOfTwoTest, AKilledProcessLeavesAValidFileWithWhatWasMeasured) {
  const pid_t child = fork();
  if (child == 0) {
    MeasuredCosts costs(path_, 1);
    costs.on_measuring([](const Measuring& now) {
      if (now.done == 1) kill(getpid(), SIGKILL);
      std::this_thread::sleep_for(std::chrono::duration<double>(1.1 * kKeepSeconds));
    });
    costs.prepare(graph_, lowered_);
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(read_cost_file(path_).size(), 1U);
  MeasuredCosts next(path_, 1);
  next.prepare(graph_, lowered_);
  EXPECT_EQ(next.measured(), 1) << "what the file has is not measured again";
}

TEST_F(CostFileOfTwoTest, ARequestToStopKeepsWhatWasMeasuredAndSaysSo) {
  MeasuredCosts costs(path_, 1);
  costs.stop_if([&] { return costs.measured() == 1; });
  try {
    costs.prepare(graph_, lowered_);
    FAIL() << "did not stop";
  } catch (const MeasuringStopped& stopped) {
    EXPECT_EQ(std::string(stopped.what()), "interrupted while measuring costs of 'two': 1 of 2 done; kept in " + path_ +
                                               ", nothing else was written");
  }
  EXPECT_EQ(read_cost_file(path_).size(), 1U);
}

// While the last kernel ran: whoever asked does not wait for the search that would follow.
TEST_F(CostFileOfTwoTest, ARequestToStopDuringTheLastMeasurementStops) {
  MeasuredCosts costs(path_, 1);
  costs.stop_if([&] { return costs.measured() == 2; });
  EXPECT_THROW(costs.prepare(graph_, lowered_), MeasuringStopped);
  EXPECT_EQ(read_cost_file(path_).size(), 2U);
}

TEST_F(CostFileOfTwoTest, AFaultInBetweenKeepsWhatWasMeasured) {
  MeasuredCosts costs(path_, 1, [&] { return costs.measured() == 0 ? int64_t{1} << 30 : 0; });
  EXPECT_THROW(costs.prepare(graph_, lowered_), Error) << "no room for the second node";
  EXPECT_EQ(read_cost_file(path_).size(), 1U);
}

// The file's figures are of a machine that was busy.
TEST_F(CostFileOfTwoTest, MeasuringAgainReplacesFiguresAndSaysByHowMuchTheyChanged) {
  MeasuredCosts(path_, 1).prepare(graph_, lowered_);
  CostFigures busy = read_cost_file(path_);
  for (auto& [key, nanoseconds] : busy) nanoseconds *= 1000;
  CostFileWriter(path_).put(busy);
  CostFileWriter(path_).add({{"of another graph", 7}});

  MeasuredCosts costs(path_, 1);
  costs.measure_again();
  costs.prepare(graph_, lowered_);
  EXPECT_EQ(costs.measured(), 2);
  EXPECT_EQ(costs.change().compared, 2);
  EXPECT_EQ(costs.change().changed, 2);
  EXPECT_LE(costs.change().least_ratio, costs.change().median_ratio);
  EXPECT_LE(costs.change().median_ratio, costs.change().greatest_ratio);
  EXPECT_LT(costs.change().greatest_ratio, 0.5);
  const CostFigures kept = read_cost_file(path_);
  EXPECT_EQ(kept.size(), 3U);
  EXPECT_EQ(kept.at("of another graph"), 7);
  for (const auto& [key, nanoseconds] : busy) EXPECT_LT(kept.at(key), nanoseconds) << key;
  costs.prepare(graph_, lowered_);
  EXPECT_EQ(costs.measured(), 2) << "once";
}

// What is measured for the first time changes nothing, and figures that are not measured here are left to others.
TEST_F(CostFileOfTwoTest, MeasuringAgainComparesAndReplacesOnlyWhatItMeasures) {
  MeasuredCosts(path_, 1).prepare(graph_, lowered_);
  const CostFigures both = read_cost_file(path_);
  std::filesystem::remove(path_);
  CostFileWriter(path_).add({*both.begin(), {"of another graph", 7}});

  MeasuredCosts costs(path_, 1);
  costs.measure_again();
  CostFileWriter(path_).put({{"of another graph", 9}});  // by another process, since
  costs.prepare(graph_, lowered_);
  costs.prepare(graph_, lowered_);
  EXPECT_EQ(costs.measured(), 2) << "once each";
  EXPECT_EQ(costs.change().compared, 1);
  EXPECT_EQ(read_cost_file(path_).at("of another graph"), 9);
}

TEST(CostChanges, AreCountedFromATenthOn) {
  const CostChange nothing = change_between({}, {{"new", 5}});
  EXPECT_EQ(nothing.compared, 0);
  EXPECT_EQ(nothing.median_ratio, 1.0);
  const CostFigures before = {{"a", 1000}, {"b", 1000}, {"c", 1000}, {"d", 1000}};
  const CostChange change = change_between(before, {{"a", 500}, {"b", 1090}, {"c", 910}, {"d", 3000}, {"new", 5}});
  EXPECT_EQ(change.compared, 4);
  EXPECT_EQ(change.changed, 2);
  EXPECT_DOUBLE_EQ(change.least_ratio, 0.5);
  EXPECT_DOUBLE_EQ(change.median_ratio, 1.0);
  EXPECT_DOUBLE_EQ(change.greatest_ratio, 3.0);
  EXPECT_DOUBLE_EQ(change_between({{"a", 2}, {"b", 1}, {"c", 1}}, {{"a", 1}, {"b", 4}, {"c", 2}}).median_ratio, 2.0);
}

TEST_F(CostFileOfTwoTest, AFileThatCannotBeWrittenIsRefusedBeforeAnythingIsMeasured) {
  MeasuredCosts costs(nowhere_, 1);
  costs.on_measuring([](const Measuring& now) { ADD_FAILURE() << "measured " << now.node; });
  EXPECT_THROW(costs.prepare(graph_, lowered_), Error);
  EXPECT_EQ(costs.measured(), 0);
}

TEST_F(CostFileOfTwoTest, WhereThatIsNoErrorFiguresAreKeptInNoFile) {
  MeasuredCosts costs(nowhere_, 1);
  std::string why;
  costs.on_not_kept([&](const Error& error) { why += error.what(); });
  EXPECT_EQ(costs.file(), nowhere_);
  costs.prepare(graph_, lowered_);
  costs.save();
  EXPECT_EQ(why, "cost file '" + nowhere_ + "' cannot be written: Not a directory; name another with memory.cost_file");
  EXPECT_EQ(costs.measured(), 2);
  EXPECT_EQ(costs.file(), "");
}

}  // namespace
}  // namespace tidemark::compile
