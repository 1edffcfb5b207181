// Runs of the program that are stopped and go on, for the tests of promise 6.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/integration/program.h"

namespace tidemark::tests {

class StoppedRun : public ::testing::Test {
 protected:
  static constexpr int64_t kSteps = 24;

  void SetUp() override;

  // `tidemark train --json` on the test's configuration with checkpoints in `dir`, a progress line each step.
  std::vector<std::string> command(const std::string& dir, const std::vector<std::string>& more = {}) const;
  Finished train(const std::string& dir, const std::vector<std::string>& more = {}) const;
  // The result of a run that nothing stopped.
  nlohmann::json& reference();
  // That `resumed` went on from its first step as the reference did, and ended with the same bits.
  void expect_continues(const Finished& resumed);

  std::string path(const std::string& name) const { return folder_ + "/" + name; }

  std::string model_ = "mlp";
  std::string folder_, config_;

 private:
  nlohmann::json reference_;
};

}  // namespace tidemark::tests
