// Promise 6 when the stop is asked for: Ctrl-C ends after the step in hand; what a resumed run cannot keep is said.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>

#include "framework/checkpoint/checkpoint.h"
#include "tests/faults/runs.h"

namespace tidemark::tests {
namespace {

class Stop : public StoppedRun {
 protected:
  // A run long enough to be stopped, with the schedule of the reference's.
  Finished interrupt(int signal) {
    Program program(folder_, command("run", {"--set", "train.steps=100000", "--set", "checkpoint.every=100000"}));
    EXPECT_TRUE(program.wait_for("step 4/"));
    program.send(signal);
    return program.wait();
  }
};

TEST_F(Stop, CtrlCEndsAfterTheStepWithACheckpointAndExitCodeZero) {
  for (const int signal : {SIGINT, SIGTERM}) {
    const Finished stopped = interrupt(signal);
    ASSERT_EQ(stopped.exit_code, 0) << stopped.err;
    nlohmann::json report = stopped.json();
    EXPECT_EQ(report["interrupted"], true);
    const auto steps = report["steps"].get<int64_t>();
    EXPECT_GE(steps, 4);
    EXPECT_LT(steps, 100000);
    EXPECT_EQ(report["losses"].size(), static_cast<size_t>(steps));
    const auto folders = checkpoint::list_checkpoints(path("run"));
    ASSERT_FALSE(folders.empty());
    const checkpoint::Checkpoint saved(folders.back());
    EXPECT_EQ(saved.manifest().step, steps);
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(Stop, TheStoppedRunGoesOnAsIfNothingWas) {
  Program program(folder_, command("run", {"--set", "checkpoint.every=100000", "--set", "train.eval_every=24"}));
  ASSERT_TRUE(program.wait_for("step 2/"));
  program.send(SIGINT);
  const Finished finished = program.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  nlohmann::json stopped = finished.json();
  const Finished resumed = train("run", {"--resume"});
  EXPECT_EQ(resumed.json()["first_step"], stopped["steps"]);
  expect_continues(resumed);
}

TEST_F(Stop, ANewRunDoesNotPushOutTheCheckpointsOfAnother) {
  reference();
  const auto before = checkpoint::list_checkpoints(path("reference"));
  const Finished refused = train("reference");
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("--resume"), std::string::npos) << refused.err;
  EXPECT_EQ(checkpoint::list_checkpoints(path("reference")), before);
  const Finished again = train("reference", {"--restart"});
  EXPECT_EQ(again.json()["first_step"], 0);
  expect_continues(again);
}

TEST_F(Stop, OtherThreadsOrSettingsAreNamedWhenResumed) {
  const Finished first = train("run", {"--set", "train.threads=2", "--set", "train.steps=3"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const Finished resumed = train("run", {"--resume", "--set", "train.steps=6", "--set", "train.lr=1e-4"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_NE(resumed.err.find("threads: saved 2, now 1"), std::string::npos) << resumed.err;
  EXPECT_NE(resumed.err.find("train.lr"), std::string::npos) << resumed.err;
  EXPECT_EQ(resumed.json()["first_step"], 3);

  const Finished same = train("run", {"--resume", "--set", "train.steps=6", "--set", "train.lr=1e-4"});
  EXPECT_EQ(same.err.find("resume_differs"), std::string::npos) << same.err;
}

class StopWithinABudget : public StoppedRun {
 protected:
  StopWithinABudget() { model_ = "gpt"; }
};

TEST_F(StopWithinABudget, AnotherBudgetIsNoDifferenceWhenResumed) {
  const auto within = [&](const std::string& dir, const std::string& budget, std::vector<std::string> more) {
    for (const std::string& assignment :
         {"memory.budget=" + budget, std::string("memory.recompute=auto"), "memory.cost_file=" + path("costs.json"),
          std::string("train.steps=4"), std::string("checkpoint.every=2")})
      more.insert(more.end(), {"--set", assignment});
    return train(dir, more);
  };
  const Finished whole = within("run", "64MiB", {});
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.json()["recomputed_instructions"], 0);
  std::filesystem::remove_all(path("run") + "/step-00000004");
  const Finished resumed = within("run", "6MiB", {"--resume"});
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["first_step"], 2);
  EXPECT_GT(resumed.json()["recomputed_instructions"], 0);
  EXPECT_EQ(resumed.json()["parameters_sha256"], whole.json()["parameters_sha256"]);
  EXPECT_EQ(resumed.err.find("resume_differs"), std::string::npos) << resumed.err;
}

// Nothing is learnt, so the third evaluation is the second one without a lower loss: the run stops after step 6. What
// was counted before a stop counts after it.
TEST_F(Stop, EarlyStoppingIsCarriedOver) {
  const std::vector<std::string> still = {"--set", "train.lr=1e-30",       "--set", "train.early_stop=2",
                                          "--set", "train.eval_every=2",   "--set", "checkpoint.every=1",
                                          "--set", "train.weight_decay=0", "--set", "train.schedule=constant"};
  const Finished whole = train("run", still);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(whole.json()["steps"], 6);
  EXPECT_EQ(whole.json()["stopped_early"], true);
  for (const char* later : {"/step-00000005", "/step-00000006"}) std::filesystem::remove_all(path("run") + later);
  std::vector<std::string> resume = still;
  resume.push_back("--resume");
  const Finished resumed = train("run", resume);
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_EQ(resumed.json()["first_step"], 4);
  EXPECT_EQ(resumed.json()["steps"], 6);
  EXPECT_EQ(resumed.json()["stopped_early"], true);
}

TEST_F(Stop, AFinishedRunHasNothingLeftToDo) {
  reference();
  const Finished again = train("reference", {"--resume"});
  EXPECT_EQ(again.json()["first_step"], kSteps);
  EXPECT_EQ(again.json()["losses"].size(), 0u);
  expect_continues(again);
}

}  // namespace
}  // namespace tidemark::tests
