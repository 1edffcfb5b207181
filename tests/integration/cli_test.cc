// What other programs see of `tidemark`: exit codes, one JSON object on standard output, every documented field.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/category.h"
#include "base/version.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

class Cli : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "mlp");
  }

  Finished run(const std::vector<std::string>& arguments) const { return run_program(folder_, arguments); }

  std::string folder_, config_;
};

int64_t sum_of_categories(const nlohmann::json& categories) {
  int64_t sum = 0;
  for (const auto& [name, bytes] : categories.items()) {
    bool known = false;
    for (int c = 0; c < kCategoryCount; ++c) known = known || name == to_string(static_cast<Category>(c));
    EXPECT_TRUE(known) << name;
    EXPECT_GT(bytes, 0) << name;
    sum += bytes.get<int64_t>();
  }
  return sum;
}

TEST_F(Cli, TrainPrintsOneObjectWithEveryField) {
  const Finished finished = run({"train", "--json", "-c", config_, "--set", "train.log_every=1"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  nlohmann::json report = finished.json();
  EXPECT_EQ(report["steps"], 6);
  EXPECT_EQ(report["losses"].size(), 6u);
  for (const auto& loss : report["losses"]) EXPECT_GT(loss, 0.0);
  EXPECT_GT(report["eval"]["loss"], 0.0);
  EXPECT_EQ(report["eval"]["samples"], 40);
  EXPECT_GE(report["eval"]["accuracy"], 0.0);
  EXPECT_GT(report["planned_peak_bytes"], 0);
  EXPECT_EQ(report["measured_peak_bytes"], report["planned_peak_bytes"]);
  EXPECT_GT(sum_of_categories(report["categories"]), 0);
  EXPECT_LE(sum_of_categories(report["categories"]), report["planned_peak_bytes"]);
  EXPECT_GT(report["step_seconds"]["median"], 0.0);
  EXPECT_GT(report["step_seconds"]["min"], 0.0);
  EXPECT_LE(report["step_seconds"]["min"], report["step_seconds"]["median"]);
  EXPECT_GT(report["samples_per_second"], 0.0);
  EXPECT_TRUE(report["tokens_per_second"].is_number());
  EXPECT_EQ(report["device_alloc_calls_after_warmup"], 0);
  EXPECT_EQ(report["micro_batches"], nlohmann::json(std::vector<int>(6, 32)));
  EXPECT_EQ(report["replans"], 0);
  EXPECT_EQ(report["interrupted"], false);
  EXPECT_EQ(report["parameters_sha256"].get<std::string>().size(), 64u);
  EXPECT_NE(finished.err.find("step 6/6"), std::string::npos) << "progress goes to standard error";
}

TEST_F(Cli, TokensPerSecondOfAText) {
  const Finished finished = run({"train", "--json", "-c", write_tiny_config(folder_, "gpt")});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_GT(finished.json()["tokens_per_second"], finished.json()["samples_per_second"]);
}

TEST_F(Cli, PlanPrintsOneObjectAndSaysWhatTrainMeasures) {
  const Finished finished = run({"plan", "--json", "-c", config_, "--budget", "64MiB"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  nlohmann::json plan = finished.json();
  EXPECT_EQ(plan["model"], "mlp");
  EXPECT_EQ(plan["device"], "cpu");
  EXPECT_EQ(plan["budget_bytes"], 64 << 20);
  EXPECT_LE(plan["lower_bound_bytes"], plan["arena_bytes"]);
  EXPECT_LE(plan["arena_bytes"], plan["planned_peak_bytes"]);
  EXPECT_LE(sum_of_categories(plan["categories"]), plan["arena_bytes"]);
  EXPECT_EQ(plan["micro_batch"], 32);
  EXPECT_EQ(plan["accumulation_steps"], 1);
  EXPECT_EQ(plan["recompute_overhead"], 0.0);
  EXPECT_TRUE(plan.contains("predicted_step_seconds"));
  EXPECT_GT(plan["plan_seconds"], 0.0);
  nlohmann::json trained = run({"train", "--json", "-c", config_}).json();
  EXPECT_EQ(trained["measured_peak_bytes"], plan["planned_peak_bytes"]);
  EXPECT_EQ(trained["plan_digest"], plan["plan_digest"]);
}

TEST_F(Cli, PlanThatDoesNotFitStillPrintsTheObject) {
  const Finished finished = run({"plan", "--json", "-c", config_, "--budget", "2MiB"});
  EXPECT_EQ(finished.exit_code, 3);
  EXPECT_GT(finished.json()["planned_peak_bytes"], finished.json()["budget_bytes"]);
  EXPECT_NE(finished.err.find("budget"), std::string::npos) << finished.err;
}

TEST_F(Cli, SetOverridesAndMayBeRepeated) {
  const nlohmann::json report =
      run({"train", "--json", "-c", config_, "--set", "train.steps=2", "--set", "memory.micro_batch=8"}).json();
  EXPECT_EQ(report["steps"], 2);
  EXPECT_EQ(report["micro_batches"], nlohmann::json({8, 8}));
}

TEST_F(Cli, AllConfigurationErrorsInOneRun) {
  const std::string path = folder_ + "/wrong.yaml";
  write_file(path,
             "model: {kind: mlp, hiden: [4]}\n"
             "data: {kind: fashion_mnist, path: nowhere}\n"
             "train:\n"
             "  globl_batch: 4\n"
             "  lr: fast\n"
             "  steps: -1\n"
             "  steps: 3\n");
  for (const char* command : {"train", "plan"}) {
    const Finished finished = run({command, "-c", path, "--set", "memory.micro_bach=3"});
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_EQ(finished.out, "");
    for (const char* expected :
         {"wrong.yaml:1:20: key 'model.hiden' is unknown; nearest is 'model.hidden'", "nowhere", "wrong.yaml:4:3",
          "nearest is 'train.global_batch'", "'train.lr'", "'train.steps'", "wrong.yaml:7:3", "memory.micro_bach"})
      EXPECT_NE(finished.err.find(expected), std::string::npos) << expected << " in\n" << finished.err;
  }
}

TEST_F(Cli, ABadCommandLineIsTwo) {
  EXPECT_EQ(run({}).exit_code, 2);
  EXPECT_EQ(run({"fly"}).exit_code, 2);
  EXPECT_EQ(run({"train"}).exit_code, 2);
  EXPECT_EQ(run({"train", "-c", config_, "--fast"}).exit_code, 2);
  EXPECT_EQ(run({"train", "-c", folder_ + "/absent.yaml"}).exit_code, 2);
  EXPECT_EQ(run({"train", "-c", config_, "--resume", "--restart"}).exit_code, 2);
  EXPECT_EQ(run({"train", "-c", config_, "--set", "train.steps"}).exit_code, 2);
  EXPECT_EQ(run({"train", "-c", config_, "--resume"}).exit_code, 2) << "there is no checkpoint.dir to resume from";
}

TEST_F(Cli, ABadCommandLineIsExplainedAsOtherErrorsAre) {
  EXPECT_EQ(run({"plan", "--set", "a=b"}).err, "tidemark plan: --config is required; see tidemark plan --help\n");
  EXPECT_TRUE(run({"bench", "arena", "--work", "lots"}).err.starts_with("tidemark bench arena: "));
  EXPECT_TRUE(run({"bench", "trains"}).err.starts_with("tidemark bench: unknown 'trains'\n"));
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"config"}, {"config", "check"}, {"config", "fly"}}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_TRUE(finished.err.starts_with("tidemark config: ")) << finished.err;
  }
}

TEST_F(Cli, ArgumentsTooManyAreToldInOrderWithWhatWasMeant) {
  const std::string see = "; see tidemark train --help\n";
  EXPECT_EQ(run({"train", "-c", config_, "--fast", "now"}).err, "tidemark train: not expected: '--fast' 'now'" + see);
  EXPECT_EQ(
      run({"train", "-c", config_, "--budget", "4MiB"}).err,
      "tidemark train: not expected: '--budget' '4MiB'; the budget of this command is --set memory.budget=SIZE" + see);
  EXPECT_EQ(run({"train", "-c", config_, "--set", "train.steps=1", "train.lr=1"}).err,
            "tidemark train: not expected: 'train.lr=1'; --set takes one key: write --set train.lr=1" + see);
}

TEST_F(Cli, AnEmptyArgumentIsNotAnAbsentOption) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"plan", "-c", config_, "--budget", ""},
                                                    {"plan", "-c", config_, "--svg", ""},
                                                    {"train", "-c", config_, "--record-calls", ""},
                                                    {"generate", "-c", config_, "--checkpoint", ""},
                                                    {"bench", "arena", "--capacity", ""},
                                                    {"bench", "allocator", "--generate", "small", "--limit", ""}}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, 2);
    EXPECT_NE(finished.err.find(arguments[arguments.size() - 2] + ": is empty; see"), std::string::npos)
        << finished.err;
  }
}

TEST_F(Cli, VersionIsOneLine) {
  const Finished finished = run({"--version"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, std::string("tidemark ") + kVersion + "\n");
}

TEST_F(Cli, AFileThatCannotBeReadIsBadData) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"bench", "arena"},
                                                    {"bench", "allocator"},
                                                    {"bench", "recompute", "--budgets", "0.9"}}) {
    std::vector<std::string> named = arguments;
    named.push_back(folder_ + "/absent");
    const Finished finished = run(named);
    EXPECT_EQ(finished.exit_code, 4) << finished.err;
    EXPECT_NE(finished.err.find(folder_ + "/absent"), std::string::npos) << finished.err;
  }
}

TEST_F(Cli, HoldRefusesWhatNobodyHas) {
  for (const std::string device : {"cpu", "sim:hold_refuses?size=8MiB"}) {
    for (const std::string bytes : {"9223372036854775807", "4194305TiB"}) {
      const Finished finished = run({"hold", "--device", device, "--bytes", bytes, "--seconds", "0"});
      EXPECT_EQ(finished.exit_code, 3) << device << " " << bytes << ": " << finished.err;
      EXPECT_EQ(finished.err.find("memory.budget"), std::string::npos) << finished.err;
    }
    EXPECT_EQ(run({"hold", "--device", device, "--bytes", "1", "--seconds", "nan"}).exit_code, 2);
  }
  const Finished full = run({"hold", "--device", "sim:hold_refuses?size=8MiB", "--bytes", "10MiB", "--seconds", "0"});
  EXPECT_EQ(full.exit_code, 3);
  EXPECT_TRUE(full.err.ends_with("8.0 MiB of 8.0 MiB can be had; stop other programs or lower --bytes\n")) << full.err;
  const Finished finished = run({"hold", "--device", "cpu", "--bytes", "10%", "--seconds", "0"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("--bytes: size '10%'"), std::string::npos) << finished.err;
}

TEST_F(Cli, HelpIsZeroAndOnStandardOutput) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"train", "--help"}, {"plan", "--help"}, {"config", "--help"}}) {
    const Finished finished = run(arguments);
    EXPECT_EQ(finished.exit_code, 0);
    EXPECT_FALSE(finished.out.empty());
    EXPECT_EQ(finished.err, "");
  }
}

TEST_F(Cli, WhatCannotBeDoneIsOneWithALineThatSaysWhy) {
  write_file(folder_ + "/file", "");
  const Finished finished = run({"train", "--json", "-c", config_, "--set", "checkpoint.dir=" + folder_ + "/file/run"});
  EXPECT_EQ(finished.exit_code, 1) << finished.err;
  EXPECT_EQ(finished.out, "");
  EXPECT_NE(finished.err.find(folder_ + "/file/run"), std::string::npos) << finished.err;
}

TEST_F(Cli, ConfigChecksAndShows) {
  EXPECT_EQ(run({"config", "check", config_}).exit_code, 0);
  EXPECT_EQ(run({"config", "check", config_, "--set", "train.lr=-1"}).exit_code, 2);
  nlohmann::json shown = run({"config", "show", config_, "--json", "--set", "train.lr=0.25"}).json();
  EXPECT_EQ(shown["train"]["lr"], 0.25);
  EXPECT_EQ(shown["train"]["global_batch"], 32);
  EXPECT_NE(run({"config", "reference"}).out.find("global_batch"), std::string::npos);
}

TEST_F(Cli, ALossThatIsNoNumberEndsTheRunWithStepAndTensor) {
  const Finished finished =
      run({"train", "--json", "-c", config_, "--set", "train.optimizer=sgd", "--set", "train.lr=1e30"});
  EXPECT_EQ(finished.exit_code, 1) << "no file is bad: 4 would be wrong";
  EXPECT_EQ(finished.out, "");
  EXPECT_NE(finished.err.find("loss of step"), std::string::npos) << finished.err;
  EXPECT_NE(finished.err.find("first bad tensor is '"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace tidemark::tests
