// Promise 6: a process that is killed at any moment leaves a loadable checkpoint, and the resumed run ends with the
// bits of one that was never stopped.
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/philox.h"
#include "framework/checkpoint/checkpoint.h"
#include "tests/faults/runs.h"

namespace tidemark::tests {
namespace {

class Kill : public StoppedRun {
 protected:
  // Time from a run's plan to its end, to spread the kills over.
  std::chrono::microseconds measure_run() {
    Program program(folder_, command("reference"));
    EXPECT_TRUE(program.wait_for("planned"));
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(program.wait().exit_code, 0);
    const auto took = std::chrono::steady_clock::now() - begin;
    std::filesystem::remove_all(path("reference"));
    return std::chrono::duration_cast<std::chrono::microseconds>(took);
  }

  // Runs that are killed `kills` times, each time resumed, and then end as one that nobody killed. Gives how many kills
  // hit a process.
  int kill_at_random(uint32_t runs, uint32_t kills) {
    constexpr uint64_t kSeed = 11;
    const auto run_time = measure_run();
    int killed = 0;
    for (uint32_t run = 0; run < runs; ++run) {
      const std::string dir = "run" + std::to_string(run);
      for (uint32_t kill = 0; kill < kills; ++kill) {
        const uint32_t bits = random_block({.seed = kSeed, .step = run, .sample = kill, .op = 0}, 0).word[0];
        Program program(folder_, command(dir, {"--resume"}));
        EXPECT_TRUE(program.wait_for("planned"));
        std::this_thread::sleep_for(run_time * uniform_float(bits) * 0.6F);
        program.send(SIGKILL);
        const Finished finished = program.wait();
        killed += finished.signal == SIGKILL;
        EXPECT_TRUE(finished.signal == SIGKILL || finished.exit_code == 0) << finished.err;
      }
      SCOPED_TRACE("seed " + std::to_string(kSeed) + ", run " + std::to_string(run));
      expect_continues(train(dir, {"--resume"}));
    }
    return killed;
  }

  static constexpr const char* kEnough = "enough of them must hit a run that is not done yet";
};

class KillPacked : public Kill {
 protected:
  KillPacked() { model_ = "lstm"; }
};

TEST_F(Kill, AtRandomMomentsAgainAndAgainThenResumed) { EXPECT_GE(kill_at_random(3, 4), 4) << kEnough; }

// Every batch has a shape of its own: which of them the process has met before hangs on where it was resumed.
TEST_F(KillPacked, AtRandomMomentsAgainAndAgainThenResumed) { EXPECT_GE(kill_at_random(2, 3), 2) << kEnough; }

TEST_F(Kill, BeforeTheFirstStepLeavesStepZero) {
  const std::vector<std::string> rarely = {"--set", "checkpoint.every=1000", "--set", "train.steps=1000"};
  const std::string step_zero = path("run") + "/step-00000000";
  Program program(folder_, command("run", rarely));
  for (int i = 0; i < 20'000 && program.is_running() && !std::filesystem::exists(step_zero); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  program.send(SIGKILL);
  ASSERT_EQ(program.wait().signal, SIGKILL) << "the run must not end before the signal";
  EXPECT_EQ(checkpoint::list_checkpoints(path("run")), std::vector<std::string>{step_zero});
  const Finished resumed = train("run", {"--resume"});
  EXPECT_EQ(resumed.json()["first_step"], 0);
  expect_continues(resumed);
}

TEST_F(Kill, ATornNewestCheckpointFallsBackToTheOneBefore) {
  reference();
  const auto folders = checkpoint::list_checkpoints(path("reference"));
  ASSERT_EQ(folders.size(), 3u) << "as many as checkpoint.keep says";
  for (const char* file : {"tensors.safetensors", "manifest.json"}) {
    std::filesystem::remove_all(path("torn"));
    std::filesystem::copy(path("reference"), path("torn"), std::filesystem::copy_options::recursive);
    const auto newest = checkpoint::list_checkpoints(path("torn")).back() + "/" + file;
    std::filesystem::resize_file(newest, std::filesystem::file_size(newest) / 2);
    const Finished resumed = train("torn", {"--resume"});
    EXPECT_NE(resumed.err.find("checkpoint_skipped"), std::string::npos) << resumed.err;
    EXPECT_EQ(resumed.json()["first_step"], kSteps - 3);
    expect_continues(resumed);
  }
}

TEST_F(Kill, OneChangedByteIsNoticed) {
  reference();
  const auto folders = checkpoint::list_checkpoints(path("reference"));
  ASSERT_FALSE(folders.empty());
  const std::string newest = folders.back() + "/tensors.safetensors";
  std::fstream file(newest, std::ios::in | std::ios::out | std::ios::binary);
  file.seekg(-1000, std::ios::end);
  const char changed = static_cast<char>(file.get() ^ 1);
  file.seekp(-1000, std::ios::end);
  file.put(changed);
  file.close();
  const Finished resumed = train("reference", {"--resume"});
  EXPECT_EQ(resumed.json()["first_step"], kSteps - 3);
  expect_continues(resumed);
}

TEST_F(Kill, NothingWholeIsAnErrorAndNotANewRun) {
  reference();
  const auto folders = checkpoint::list_checkpoints(path("reference"));
  ASSERT_FALSE(folders.empty());
  for (const std::string& folder : folders) std::filesystem::resize_file(folder + "/tensors.safetensors", 100);
  const Finished refused = train("reference", {"--resume"});
  EXPECT_EQ(refused.exit_code, 4) << refused.err;
  EXPECT_EQ(refused.out, "");
}

}  // namespace
}  // namespace tidemark::tests
