#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "framework/cli/config_command.h"
#include "framework/config/testing/fake_lists.h"

namespace tidemark::cli {
namespace {

using testing::HasSubstr;
using Action = ConfigCommand::Action;

std::string write_config(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

std::string good() { return write_config("good.yaml", "model: {kind: tiny}\ndata: {kind: noise}\n"); }
std::string bad() { return write_config("bad.yaml", "model: {kind: tiny, a: 1}\ndata: {kind: noise, b: 1}\n"); }

struct Result {
  int code;
  std::string out;
};

Result execute_here(const ConfigCommand& command) {
  std::ostringstream out;
  const int code = execute(command, config::fake_lists(), out);
  return {code, out.str()};
}

TEST(ConfigCommand, CheckSaysThatAFileIsValid) {
  const Result result = execute_here({.action = Action::check, .file = good()});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, good() + ": valid\n");
}

TEST(ConfigCommand, CheckThrowsAllProblems) {
  try {
    execute_here({.action = Action::check, .file = bad()});
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(exit_code(e.code()), 2);
    EXPECT_THAT(e.what(), HasSubstr("bad.yaml:1:21: key 'model.a' is unknown"));
    EXPECT_THAT(e.what(), HasSubstr("bad.yaml:2:21: key 'data.b' is unknown"));
  }
}

TEST(ConfigCommand, CheckWithJsonHasTheProblemsInTheObject) {
  const Result result = execute_here({.action = Action::check, .file = bad(), .json = true});
  EXPECT_EQ(result.code, 2);
  const auto report = nlohmann::json::parse(result.out);
  EXPECT_EQ(report["valid"], false);
  EXPECT_EQ(report["problems"].size(), 2u);
}

TEST(ConfigCommand, ShowAppliesOverridesAndPrintsEveryKey) {
  ConfigCommand command{.action = Action::show, .file = good(), .overrides = {"train.lr=0.5"}};
  EXPECT_THAT(execute_here(command).out, HasSubstr("  lr: 0.5\n"));
  command.json = true;
  const auto shown = nlohmann::json::parse(execute_here(command).out);
  EXPECT_EQ(shown["train"]["lr"], 0.5);
  EXPECT_EQ(shown["memory"]["planner"], "best");
}

TEST(ConfigCommand, ReferenceNeedsNoFile) {
  EXPECT_THAT(execute_here({.action = Action::reference}).out, HasSubstr("global_batch: 64"));
}

}  // namespace
}  // namespace tidemark::cli
