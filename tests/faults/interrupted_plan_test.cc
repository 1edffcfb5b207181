// Ctrl-C before step 1, while costs are measured or a plan is made: a line that says so, and what was measured is kept.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <thread>

#include "base/file.h"
#include "tests/faults/runs.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

class InterruptedPlan : public StoppedRun {
 protected:
  InterruptedPlan() { model_ = "gpt"; }

  // A command whose plan needs costs; it takes some seconds to measure them.
  std::vector<std::string> planning(const std::string& name) const {
    std::vector<std::string> arguments = {name, "-c", config_, "--json"};
    for (const std::string& assignment :
         {std::string("model.width=512"), std::string("memory.recompute=auto"), std::string("memory.budget=96MiB"),
          "memory.cost_file=" + costs(), "checkpoint.dir=" + path("run")})
      arguments.insert(arguments.end(), {"--set", assignment});
    return arguments;
  }

  bool wait_for_costs(Program& program) const {
    while (program.is_running() && !std::filesystem::exists(costs()))
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return program.is_running();
  }

  nlohmann::json kept() const { return nlohmann::json::parse(read_file(costs()))["nanoseconds"]; }
  std::string costs() const { return path("costs.json"); }
};

TEST_F(InterruptedPlan, MeasuringEndsAfterTheFigureInHandAndKeepsAll) {
  for (const std::string name : {"train", "plan", "soak"}) {
    std::filesystem::remove(costs());
    Program program(folder_, planning(name));
    ASSERT_TRUE(wait_for_costs(program)) << "measured too fast to be interrupted";
    const size_t before = kept().size();
    program.send(name == "plan" ? SIGTERM : SIGINT);
    const Finished stopped = program.wait();
    EXPECT_EQ(stopped.exit_code, 1) << stopped.err;
    EXPECT_EQ(stopped.out, "");
    const std::string line = "tidemark " + name + ": interrupted while measuring costs of 'step[32]': ";
    const size_t at = stopped.err.find(line);
    ASSERT_NE(at, std::string::npos) << stopped.err;
    const size_t done = std::stoul(stopped.err.substr(at + line.size()));
    EXPECT_NE(stopped.err.find(" done; kept in " + costs() + ", nothing else was written\n", at), std::string::npos)
        << stopped.err;
    EXPECT_EQ(kept().size(), done);
    EXPECT_GE(done, before);
    EXPECT_FALSE(std::filesystem::exists(path("run"))) << "nothing but costs";
  }
}

TEST_F(InterruptedPlan, AKillLeavesTheFiguresOfASecondAgo) {
  Program program(folder_, planning("train"));
  ASSERT_TRUE(wait_for_costs(program));
  program.send(SIGKILL);
  EXPECT_EQ(program.wait().signal, SIGKILL);
  EXPECT_GT(kept().size(), 0u);
}

// Waiting for another process's figures stands for all of planning where nothing is measured.
TEST_F(InterruptedPlan, PlanningEndsAtOnceWithALine) {
  write_file(costs() + ".lock", "4194305\n");
  const int other = open((costs() + ".lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  Program program(folder_, planning("train"));
  ASSERT_TRUE(program.wait_for("event=waits_for_costs"));
  program.send(SIGINT);
  const Finished stopped = program.wait();
  close(other);
  EXPECT_EQ(stopped.exit_code, 1) << stopped.err;
  EXPECT_EQ(stopped.out, "");
  EXPECT_NE(stopped.err.find("\ntidemark train: interrupted while planning; nothing was written\n"), std::string::npos)
      << stopped.err;
  EXPECT_FALSE(std::filesystem::exists(costs()));
}

}  // namespace
}  // namespace tidemark::tests
