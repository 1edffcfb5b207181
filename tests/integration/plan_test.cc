// What `tidemark plan` says of budgets and costs: figures that hold when they are used, and labels on what is a guess.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/file.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kPage = 2 << 20;

class Plan : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "gpt");
  }

  Finished plan(const std::vector<std::string>& more) const { return run("plan", more); }

  Finished run(const std::string& command, const std::vector<std::string>& more) const {
    std::vector<std::string> all = {command,
                                    "-c",
                                    config_,
                                    "--set",
                                    "memory.recompute=auto",
                                    "--set",
                                    "memory.cost_file=" + folder_ + "/costs.json"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(folder_, all);
  }

  std::string folder_, config_;
};

TEST_F(Plan, WithoutRecomputationARefusalSaysThatThereIsSome) {
  const Finished refused = plan({"--set", "memory.recompute=none", "--budget", std::to_string(kPage)});
  ASSERT_EQ(refused.exit_code, 3) << refused.err;
  EXPECT_NE(refused.err.find("set memory.recompute: auto, lower memory.micro_batch (now 32) or raise memory.budget"),
            std::string::npos)
      << refused.err;
}

TEST_F(Plan, AWrongBudgetIsToldAsTheOptionThatGaveIt) {
  const Finished refused = plan({"--budget", "140MB"});
  EXPECT_EQ(refused.exit_code, 2) << refused.err;
  EXPECT_NE(refused.err.find("--budget: size '140MB' has the unknown unit 'MB', nearest is 'MiB'"), std::string::npos)
      << refused.err;
  EXPECT_EQ(refused.err.find("--set"), std::string::npos) << refused.err;
  EXPECT_NE(plan({"--budget", "140"}).err.find("tidemark plan: --budget: memory.budget 140 is 140 B, below one page"),
            std::string::npos);
}

TEST_F(Plan, ABudgetMayBeAShareOfThePeakWithoutRecomputation) {
  const int64_t peak = plan({"--json", "--estimate"}).json()["planned_peak_bytes"];
  const int64_t half = peak / 2 / kPage * kPage;
  const nlohmann::json json = plan({"--json", "--estimate", "--budget", "50%peak"}).json();
  EXPECT_EQ(json["budget_bytes"], half);
  EXPECT_EQ(json["plain_peak_bytes"], peak);
  EXPECT_LE(json["planned_peak_bytes"], half);
  EXPECT_GT(json["recompute_overhead"], 0.0);
  const Finished text = plan({"--estimate", "--budget", "50%peak"});
  EXPECT_TRUE(text.out.starts_with("budget         50% of ")) << text.out;
  EXPECT_NE(text.out.find(" without recomputation, in whole pages: "), std::string::npos) << text.out;
  EXPECT_NE(text.out.find(" (" + std::to_string(half) + " bytes)\n"), std::string::npos) << text.out;
  EXPECT_NE(plan({"--budget", "4GiBpeak"}).err.find("--budget: '4GiBpeak' is no share of the peak; write 50%peak"),
            std::string::npos);
  const Finished whole = plan({"--json", "--estimate", "--budget", "100%peak"});
  EXPECT_EQ(whole.json()["recompute_overhead"], 0.0);
}

TEST_F(Plan, ABudgetThatTheDeviceDoesNotHaveIsSaid) {
  const Finished planned = plan({"--budget", "1000TiB"});
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_NE(planned.err.find("event=budget_above_device budget_bytes=1099511627776000 device_bytes="),
            std::string::npos)
      << planned.err;
}

TEST_F(Plan, TrainSaysWhatRunsAgainAsThePlanDoes) {
  const int64_t least = plan({"--json", "--budget", std::to_string(kPage)}).json()["least_budget_bytes"];
  const nlohmann::json planned = plan({"--json", "--budget", std::to_string(least)}).json();
  const std::string budget = "memory.budget=" + std::to_string(least);
  const Finished trained = run("train", {"--json", "--set", "train.steps=1", "--set", budget});
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_GT(trained.json()["recompute_overhead"], 0.0);
  for (const char* key : {"recomputed_instructions", "recompute_overhead", "recompute_overhead_lower_bound"}) {
    EXPECT_EQ(trained.json()[key], planned[key]) << key;
    EXPECT_NE(trained.err.find(" " + std::string(key) + "=" + planned[key].dump()), std::string::npos) << trained.err;
  }
  int64_t in_bodies = 0;
  for (const nlohmann::json& body : planned["bodies"])
    if (body["recompute_overhead"] == planned["recompute_overhead"]) in_bodies = body["recomputed_instructions"];
  EXPECT_GT(in_bodies, 0);
  EXPECT_EQ(planned["recomputed_instructions"], in_bodies);
}

// By body: lines of what runs again, and the sum of their shares.
std::map<std::string, std::pair<int64_t, double>> explained_runs(const std::string& text) {
  std::map<std::string, std::pair<int64_t, double>> runs;
  std::istringstream lines(text);
  const std::string head = "run again in '";
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(' ', 0) != 0) body.clear();
    if (line.rfind(head, 0) == 0) body = line.substr(head.size(), line.find('\'', head.size()) - head.size());
    if (body.empty() || line.find("/again") == std::string::npos) continue;
    const size_t milliseconds = line.find(" ms ");
    EXPECT_NE(milliseconds, std::string::npos) << line;
    if (milliseconds == std::string::npos) continue;
    ++runs[body].first;
    runs[body].second += std::stod(line.substr(milliseconds + 4));
  }
  return runs;
}

TEST_F(Plan, ExplainsWhatRunsAgainInEveryBodyAndWhatItCosts) {
  const std::string least =
      std::to_string(int64_t{plan({"--json", "--budget", std::to_string(kPage)}).json()["least_budget_bytes"]});
  const nlohmann::json planned = plan({"--json", "--budget", least}).json();
  const auto runs = explained_runs(plan({"--explain", "--budget", least}).out);
  for (const nlohmann::json& body : planned["bodies"]) {
    const auto found = runs.find(body["name"]);
    const auto [count, percent] = found == runs.end() ? std::pair<int64_t, double>() : found->second;
    EXPECT_EQ(count, body["recomputed_instructions"]) << body["name"];
    EXPECT_NEAR(percent, 100 * body["recompute_overhead"].get<double>(), 1e-4 * static_cast<double>(count + 1));
  }
  EXPECT_GT(runs.size(), 1u) << "not only the body with the peak";
}

TEST_F(Plan, TheLeastBudgetThatARefusalNamesWorksAndOnePageLessDoesNot) {
  const Finished refused = plan({"--json", "--budget", std::to_string(kPage)});
  ASSERT_EQ(refused.exit_code, 3) << refused.err;
  const int64_t least = refused.json()["least_budget_bytes"];
  EXPECT_EQ(least % kPage, 0);
  EXPECT_NE(refused.err.find("the least budget that works is " + std::to_string(least) + " bytes"), std::string::npos)
      << refused.err;
  const Finished works = plan({"--json", "--budget", std::to_string(least)});
  ASSERT_EQ(works.exit_code, 0) << works.err;
  EXPECT_EQ(works.json()["planned_peak_bytes"], least);
  const Finished less = plan({"--json", "--budget", std::to_string(least - kPage)});
  EXPECT_EQ(less.exit_code, 3);
  EXPECT_EQ(less.json()["least_budget_bytes"], least);

  const Finished curve = plan({"--json", "--frontier", "--points", "4"});
  ASSERT_EQ(curve.exit_code, 0) << curve.err;
  const nlohmann::json points = curve.json()["frontier"];
  ASSERT_GE(points.size(), 2U);
  EXPECT_EQ(points[0]["budget_bytes"], least);
  EXPECT_EQ(points[0]["least"], true);
  for (size_t i = 1; i < points.size(); ++i) {
    EXPECT_EQ(points[i]["reached"], true);
    EXPECT_EQ(points[i]["least"], false);
    EXPECT_LE(points[i]["overhead"], points[i - 1]["overhead"]) << "a bigger budget never costs more";
  }
  EXPECT_EQ(points[points.size() - 1]["overhead"], 0.0);
}

TEST_F(Plan, WhereTheBudgetIsRefusedTheCurveShowsThoseThatAreNot) {
  const std::vector<std::string> curve = {"--estimate", "--frontier", "--points",
                                          "2",          "--set",      "memory.recompute=chain"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), curve.begin(), curve.end());
    return plan(more);
  };
  const Finished text = with({"--budget", std::to_string(kPage), "--svg", folder_ + "/curve.svg"});
  EXPECT_EQ(text.exit_code, 3) << text.err;
  EXPECT_TRUE(text.out.starts_with("      budget         peak ")) << text.out;
  EXPECT_NE(text.out.find("   least budget\n"), std::string::npos) << text.out;
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/curve.svg"));
  const Finished object = with({"--json", "--budget", std::to_string(kPage)});
  EXPECT_EQ(object.exit_code, 3) << object.err;
  const nlohmann::json frontier = object.json()["frontier"];
  ASSERT_EQ(frontier.size(), 2U);
  EXPECT_EQ(frontier[0]["budget_bytes"], object.json()["least_budget_bytes"]);
  EXPECT_EQ(frontier[1]["overhead"], 0.0);
}

TEST_F(Plan, PointsWithoutFrontierIsAnError) {
  const Finished finished = plan({"--points", "4"});
  EXPECT_EQ(finished.exit_code, 2);
  EXPECT_NE(finished.err.find("--frontier"), std::string::npos) << finished.err;
}

TEST_F(Plan, PredictsTheStepFromCostsThatItMeasuresOnce) {
  const Finished first = plan({"--json"});
  ASSERT_EQ(first.exit_code, 0) << first.err;
  const nlohmann::json json = first.json();
  EXPECT_GT(json["predicted_step_seconds"], 0.0);
  EXPECT_EQ(json["costs"], "measured");
  EXPECT_GT(json["costs_measured_now"], 0);
  EXPECT_EQ(json["cost_file"], folder_ + "/costs.json");
  EXPECT_EQ(json["estimated"], nlohmann::json::array());
  const nlohmann::json again = plan({"--json"}).json();
  EXPECT_EQ(again["costs_measured_now"], 0);
  EXPECT_EQ(again["predicted_step_seconds"], json["predicted_step_seconds"]);
  const Finished text = plan({});
  EXPECT_NE(text.out.find("measured, 0 of them now, kept in " + folder_ + "/costs.json"), std::string::npos)
      << text.out;
}

TEST_F(Plan, MeasuresAgainWhatTheFileHasAndSaysHowItChanged) {
  const std::string first = plan({"--measure-again"}).out;
  EXPECT_NE(first.find("\nagain          none was known before\n"), std::string::npos) << first;
  const Finished curve = plan({"--json", "--frontier", "--points", "2"});
  EXPECT_EQ(curve.json()["costs_measured_now"], 0) << "what any budget needs is measured";
  nlohmann::json file = nlohmann::json::parse(read_file(folder_ + "/costs.json"));
  const auto count = static_cast<int64_t>(file["nanoseconds"].size());
  for (auto& [key, nanoseconds] : file["nanoseconds"].items()) nanoseconds = 100 * nanoseconds.get<int64_t>();
  write_file(folder_ + "/costs.json", file.dump());
  const nlohmann::json busy = plan({"--json"}).json();
  EXPECT_EQ(busy["costs_measured_now"], 0);
  EXPECT_FALSE(busy.contains("costs_again"));
  const nlohmann::json again = plan({"--json", "--measure-again"}).json();
  EXPECT_EQ(again["costs_measured_now"], count) << "not only what this budget needs";
  EXPECT_EQ(again["costs_again"]["compared"], count);
  EXPECT_GT(again["costs_again"]["changed"], count / 2);
  EXPECT_LT(again["costs_again"]["median_ratio"], 0.5);
  EXPECT_LT(again["predicted_step_seconds"], 0.5 * busy["predicted_step_seconds"].get<double>());
  EXPECT_EQ(plan({"--json"}).json()["predicted_step_seconds"], again["predicted_step_seconds"]) << "kept";
  write_file(folder_ + "/costs.json", file.dump());
  const std::string text = plan({"--measure-again"}).out;
  EXPECT_NE(text.find("\nagain          " + std::to_string(count) + " were known before: "), std::string::npos) << text;
  EXPECT_NE(text.find(" changed by more than 10 %; new by old 0."), std::string::npos) << text;
  EXPECT_EQ(plan({"--measure-again", "--estimate"}).exit_code, 2);
}

TEST_F(Plan, MeasuresNothingWhereThePlainStepFits) {
  const Finished plain = plan({});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/costs.json")) << "something was measured";
  EXPECT_NE(plain.out.find("costs          not needed: nothing runs again; --explain measures"), std::string::npos)
      << plain.out;
  const int64_t peak = plan({"--estimate", "--json"}).json()["planned_peak_bytes"];
  const Finished tight = plan({"--budget", std::to_string(peak - kPage)});
  ASSERT_EQ(tight.exit_code, 0) << tight.err;
  EXPECT_NE(tight.out.find(" s predicted"), std::string::npos) << tight.out;
  EXPECT_NE(tight.out.find("of them now, kept in " + folder_ + "/costs.json"), std::string::npos) << tight.out;
  EXPECT_NE(plan({"--explain"}).out.find(" s predicted"), std::string::npos);
  EXPECT_NE(plan({}).out.find(" s predicted"), std::string::npos) << "what is known is used";
}

// Nothing can be made beneath a file, by no user.
TEST_F(Plan, CostsThatCannotBeKeptAreSaidToBeInNoFile) {
  write_file(folder_ + "/file", "no folder");
  const std::vector<std::string> cache = {"XDG_CACHE_HOME=" + folder_ + "/file"};
  const Finished text = run_program(folder_, {"plan", "-c", config_, "--explain"}, cache);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.err.find("event=costs_not_kept"), std::string::npos) << text.err;
  EXPECT_NE(text.out.find(" of them now, kept in no file\n"), std::string::npos) << text.out;
  EXPECT_EQ(run_program(folder_, {"plan", "-c", config_, "--json"}, cache).json()["cost_file"], "");
  const std::vector<std::string> points = {"plan", "-c", config_, "--frontier", "--set", "memory.recompute=auto"};
  const std::string curve = run_program(folder_, points, cache).err;
  size_t warnings = 0;
  for (size_t at = curve.find("costs_not_kept"); at != std::string::npos; at = curve.find("costs_not_kept", at + 1))
    ++warnings;
  EXPECT_EQ(warnings, 1U) << "the plan and its curve rest on the same figures, which are measured once: " << curve;

  const std::string named = folder_ + "/file/costs.json";
  const Finished refused = plan({"--explain", "--set", "memory.cost_file=" + named});
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_NE(refused.err.find("cost file '" + named +
                             "' cannot be written: Not a directory; name another with memory.cost_file"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(plan({"--set", "memory.cost_file=" + named}).exit_code, 0) << "nothing has to be measured";
}

TEST_F(Plan, WhoWaitsForCostsOfAnotherProcessSaysSo) {
  write_file(folder_ + "/costs.json.lock", "4194305\n");
  const int other = open((folder_ + "/costs.json.lock").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(flock(other, LOCK_EX), 0);
  Program program(folder_, {"plan", "-c", config_, "--json", "--set", "memory.cost_file=" + folder_ + "/costs.json"});
  EXPECT_TRUE(program.wait_for("event=waits_for_costs measured_by_process=4194305 file=" + folder_ + "/costs.json\n"));
  EXPECT_TRUE(program.is_running());
  close(other);
  const Finished finished = program.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_GT(finished.json()["costs_measured_now"], 0);
}

TEST_F(Plan, AFileThatWasAskedForIsNamedOnce) {
  for (const bool frontier : {false, true}) {
    const std::string path = folder_ + (frontier ? "/curve.svg" : "/arena.svg");
    std::vector<std::string> options = {"--estimate", "--svg", path};
    if (frontier) options.insert(options.end(), {"--frontier", "--points", "2"});
    const Finished finished = plan(options);
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    const std::string line = " event=file_written path=" + path + "\n";
    EXPECT_EQ(finished.err.find(line), finished.err.rfind("event=file_written") - 1) << finished.err;
    EXPECT_NE(finished.err.find(line), std::string::npos) << finished.err;
  }
  const Finished nowhere = plan({"--estimate", "--svg", folder_ + "/no/where.svg"});
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_TRUE(nowhere.err.ends_with("cannot write '" + folder_ + "/no/where.svg': No such file or directory\n"))
      << nowhere.err;
  const Finished full = plan({"--estimate", "--svg", "/dev/full"});
  EXPECT_TRUE(full.err.ends_with("cannot write '/dev/full': No space left on device\n")) << full.err;
}

TEST_F(Plan, ACurveOfOnePointSaysWhy) {
  const std::vector<std::string> curve = {"--frontier", "--points", "3", "--set", "memory.recompute=none"};
  EXPECT_NE(plan(curve).out.find("one point: memory.recompute is none"), std::string::npos) << plan(curve).out;
  EXPECT_FALSE(plan({"--frontier", "--points", "2", "--estimate", "--json"}).json().contains("frontier_is_one_point"));
  const Finished small = plan({"--frontier", "--estimate", "--set", "model.width=8", "--set", "train.global_batch=2"});
  EXPECT_NE(small.out.find("one point: no schedule was found that needs a page less"), std::string::npos) << small.out;

  write_file(folder_ + "/words.txt", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n");
  write_file(folder_ + "/packed.yaml",
             "model: {kind: lstm, layers: 1, width: 8, embedding: 8}\ndata: {kind: lines, path: words.txt}\n"
             "train: {global_batch: 4, steps: 1, threads: 1, eval_samples: 2}\nmemory: {budget: 64MiB}\ndevice: cpu\n");
  const Finished packed = run_program(folder_, {"plan", "-c", folder_ + "/packed.yaml", "--frontier"});
  ASSERT_EQ(packed.exit_code, 0) << packed.err;
  EXPECT_NE(packed.out.find("one point: data.kind lines is packed"), std::string::npos) << packed.out;
  const Finished object = run_program(folder_, {"plan", "-c", folder_ + "/packed.yaml", "--frontier", "--json"});
  EXPECT_EQ(object.json()["frontier"].size(), 1U);
  EXPECT_TRUE(object.json().contains("frontier_is_one_point"));
}

TEST_F(Plan, EstimatesAreLabelledAndMeasureNothing) {
  const Finished finished = plan({"--json", "--estimate"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const nlohmann::json json = finished.json();
  EXPECT_EQ(json["costs"], "estimated");
  EXPECT_EQ(json["costs_measured_now"], 0);
  EXPECT_GT(json["predicted_step_seconds"], 0.0);
  for (const char* figure : {"planned_peak_bytes", "recompute_overhead", "predicted_step_seconds"})
    EXPECT_EQ(std::ranges::count(json["estimated"], figure), 1) << figure;
  const std::string text = plan({"--estimate"}).out;
  size_t labelled = 0;
  for (const char* line : {"planned peak", "arena", "step  ", "live at the peak", "bodies"}) {
    const size_t at = text.find(line);
    ASSERT_NE(at, std::string::npos) << text;
    labelled += text.substr(at, text.find('\n', at) - at).find("estimated") != std::string::npos;
  }
  EXPECT_EQ(labelled, 5U) << text;
}

// Case: the least layout that is found of a rewritten body is above the budget that its schedule was made for.
TEST_F(Plan, WhatRunsAgainIsLaidOutWithinTheBudget) {
  config_ = write_tiny_config(folder_, "resnet");
  for (const int64_t budget : {24 << 20, 32 << 20}) {
    const Finished planned = plan({"--json", "--estimate", "--budget", std::to_string(budget), "--set",
                                   "model.blocks=[3,3,3]", "--set", "model.width=16", "--set", "train.global_batch=128",
                                   "--set", "memory.norm_batch=64", "--set", "memory.micro_batch=128"});
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    EXPECT_LE(planned.json()["arena_bytes"], budget);
    EXPECT_GT(planned.json()["recomputed_instructions"], 0);
  }
}

TEST_F(Plan, ADeviceThatIsNotThereIsRefusedWithoutEstimate) {
  const std::vector<std::string> absent = {"--set", "device=cuda:7"};
  Finished finished = plan(absent);
  EXPECT_NE(finished.exit_code, 0);
  EXPECT_NE(finished.err.find("--estimate"), std::string::npos) << finished.err;

  finished = plan({"--set", "device=cuda:7", "--estimate"});
  EXPECT_EQ(finished.exit_code, 2) << "the memory of a device that is not there is not known";
  EXPECT_NE(finished.err.find("--budget"), std::string::npos) << finished.err;

  finished = plan({"--set", "device=cuda:7", "--estimate", "--budget", "80GiB", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.json()["device"], "cuda:7 (not there)");
  EXPECT_EQ(finished.json()["budget_bytes"], int64_t{80} << 30);
  EXPECT_EQ(finished.json()["costs"], "estimated");
}

}  // namespace
}  // namespace tidemark::tests
