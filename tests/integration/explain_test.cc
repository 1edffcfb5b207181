// What `tidemark plan --explain` tells: of which body, of which tensors, in words and in the object.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

class Explain : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "gpt");
  }

  // Estimates: the same plan everywhere, and nothing is measured.
  Finished plan(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"plan", "-c", config_, "--estimate", "--set", "memory.recompute=auto"};
    all.insert(all.end(), more.begin(), more.end());
    return run_program(folder_, all);
  }

  std::string folder_, config_;
};

// The lines of a text after one that begins with `head`, up to one that is not indented.
std::vector<std::string> lines_below(const std::string& text, const std::string& head) {
  std::vector<std::string> lines;
  bool below = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (below && line.starts_with(" ")) lines.push_back(line);
    below = line.starts_with(head) || (below && line.starts_with(" "));
  }
  return lines;
}

TEST_F(Explain, TheObjectHasWhatTheTextHas) {
  const std::string text = plan({"--explain", "--budget", "6MiB"}).out;
  const nlohmann::json json = plan({"--explain", "--budget", "6MiB", "--json"}).json(), &told = json["explanation"];
  EXPECT_EQ(told["body"], "step[32]");
  const std::string head = "the peak is in 'step[32]' at '" + told["peak_node"].get<std::string>() + "'";
  const auto tensors = lines_below(text, head);
  ASSERT_EQ(told["tensors_at_peak"].size(), tensors.size()) << text;
  ASSERT_EQ(tensors.size(), 10u);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const nlohmann::json& tensor = told["tensors_at_peak"][i];
    EXPECT_TRUE(tensors[i].ends_with(" " + tensor["name"].get<std::string>())) << tensors[i];
    EXPECT_NE(tensors[i].find("  " + tensor["category"].get<std::string>() + " "), std::string::npos) << tensors[i];
    EXPECT_GT(tensor["bytes"], 0);
  }
  const auto runs = lines_below(text, "run again in 'step[32]'");
  ASSERT_GT(runs.size(), 0u) << text;
  double share = 0;
  size_t of_body = 0;
  for (const nlohmann::json& run : told["recomputed"]) {
    if (run["body"] != "step[32]") continue;
    ASSERT_LT(of_body, runs.size());
    EXPECT_TRUE(runs[of_body].ends_with(" " + run["node"].get<std::string>())) << runs[of_body];
    EXPECT_GT(run["seconds"], 0.0);
    share += run["share"].get<double>();
    ++of_body;
  }
  EXPECT_EQ(of_body, runs.size());
  EXPECT_NEAR(share, json["bodies"][0]["recompute_overhead"].get<double>(), 1e-9);
  EXPECT_EQ(told["kernels"].size(), lines_below(text, "kernels of all bodies").size());
  EXPECT_GT(told["kernels"][0]["uses"], 0);
  EXPECT_EQ(std::ranges::count(json["estimated"], "explanation"), 1);
  EXPECT_FALSE(plan({"--json"}).json().contains("explanation"));
}

class ExplainedTensors : public Explain {
 protected:
  Finished plan(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--explain", "--budget", "6MiB"};
    all.insert(all.end(), more.begin(), more.end());
    return Explain::plan(all);
  }
  nlohmann::json explained(const std::vector<std::string>& patterns) const {
    std::vector<std::string> all = {"--json"};
    for (const std::string& pattern : patterns) all.insert(all.end(), {"--tensor", pattern});
    return plan(all).json()["explanation"];
  }
};

TEST_F(ExplainedTensors, AreToldWithWhatMakesThemAgain) {
  const std::string name = "layer0/mlp/up/product";
  const nlohmann::json told = explained({name}), &tensors = told["tensors"];
  ASSERT_EQ(tensors.size(), 2u) << tensors;
  const nlohmann::json &first = tensors[0], &again = tensors[1];
  EXPECT_EQ(first["name"], name);
  EXPECT_EQ(first["bytes"], 32 * 64 * 4 * 32 * 4) << "32 samples of 64 bytes, 4 x 32 floats each";
  EXPECT_EQ(first["category"], "activations");
  EXPECT_EQ(first["runs_again"], 1);
  EXPECT_EQ(first["made_again"], nullptr);
  EXPECT_EQ(first["in_place_of"], name + "/pre") << "what the activation reads ends there";
  EXPECT_EQ(again["name"], name + "/again");
  EXPECT_EQ(again["made_again"], name);
  EXPECT_EQ(again["runs_again"], 0);
  EXPECT_LT(first["last_instruction"], again["first_instruction"]) << "let go in between";
  double seconds = 0;
  for (const nlohmann::json& run : told["recomputed"])
    if (run["body"] == told["body"] && run["node"] == again["first_node"]) seconds += run["seconds"].get<double>();
  EXPECT_GT(seconds, 0.0);
  EXPECT_NEAR(first["runs_again_seconds"].get<double>(), seconds, 1e-12);

  const std::string text = plan({"--tensor", name}).out;
  EXPECT_NE(text.find("  " + first["offset"].dump() + "  " + name + ": let go, made again 1 x at "), std::string::npos)
      << text;
  EXPECT_NE(text.find(name + "/again: a further run's '" + name + "'"), std::string::npos) << text;
}

TEST_F(ExplainedTensors, OfAPatternAPartOfANameAndSegments) {
  const nlohmann::json weights = explained({"*mlp*weight"})["tensors"];
  EXPECT_EQ(weights.size(), 6u) << weights;
  for (const nlohmann::json& tensor : weights) {
    EXPECT_TRUE(tensor["name"].get<std::string>().ends_with("weight"));
    EXPECT_EQ(tensor["category"], "weights");
    EXPECT_EQ(tensor["kept_beyond_body"], true);
  }
  std::vector<std::string> names;
  const nlohmann::json biases = explained({"layer1/mlp/down/bias", "layer1/mlp/down/bi"})["tensors"];
  for (const nlohmann::json& tensor : biases) names.push_back(tensor["name"]);
  EXPECT_EQ(std::ranges::count(names, "layer1/mlp/down/bias"), 1) << "two patterns, one tensor";
  EXPECT_EQ(std::ranges::count(names, "layer1/mlp/down/bias/adam_m"), 1);
  EXPECT_EQ(std::ranges::count(names, "layer1/mlp/down/bias/gradient"), 1);
  const nlohmann::json updated = explained({"layer1/mlp/down/bias/update"})["tensors"][0];
  EXPECT_EQ(updated["in_place_of"], "layer1/mlp/down/bias");
  const nlohmann::json workspace = explained({"layer1/mlp/down/product/workspace"})["tensors"][0];
  EXPECT_EQ(workspace["first_instruction"], workspace["last_instruction"]);
  EXPECT_EQ(workspace["first_node"], "layer1/mlp/down/product");
}

TEST_F(ExplainedTensors, ThatAreNotThereAreRefusedWithTheNearest) {
  const Finished refused = plan({"--tensor", "layer0/mlp/up/prodct"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_NE(refused.err.find("--tensor 'layer0/mlp/up/prodct': 'step[32]' has no tensor of that name or beginning; "
                             "nearest: 'layer0/mlp/up/product', '"),
            std::string::npos)
      << refused.err;
  EXPECT_EQ(plan({"--tensor", "*nowhere*"}).exit_code, 2);
  EXPECT_EQ(run_program(folder_, {"plan", "-c", config_, "--tensor", "x"}).exit_code, 2) << "without --explain";
}

// Case: 85 samples in batches of 31 are 31, 31 and 23. Both bodies fill the budget's pages, the seldom one with some
// more bytes.
class ExplainedBody : public Explain {
 protected:
  Finished plan(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--budget", "5MiB", "--set", "train.global_batch=31"};
    all.insert(all.end(), more.begin(), more.end());
    return Explain::plan(all);
  }
};

TEST_F(ExplainedBody, IsTheOneThatRunsMostOftenAmongThoseThatFillTheBudget) {
  const nlohmann::json json = plan({"--json"}).json();
  ASSERT_EQ(json["bodies"][0]["name"], "step[31]");
  ASSERT_EQ(json["bodies"][1]["name"], "step[23]");
  ASSERT_GT(json["bodies"][1]["peak_bytes"], json["bodies"][0]["peak_bytes"]) << "no case";
  EXPECT_EQ(json["peak_body"], "step[31]");
  const Finished text = plan({"--explain"});
  EXPECT_NE(text.out.find("\nthe peak is in 'step[31]' at '"), std::string::npos) << text.out;
}

TEST_F(ExplainedBody, IsTheOneThatIsAskedFor) {
  const Finished text = plan({"--explain", "--body", "evaluate[10]"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const size_t at = text.out.find("\nthe peak of 'evaluate[10]', ");
  ASSERT_NE(at, std::string::npos) << text.out;
  EXPECT_EQ(text.out.find("gradient", at), std::string::npos) << "the tensors of an evaluation: " << text.out;
}

TEST_F(ExplainedBody, ThatIsNotThereIsRefusedWithThoseThatAre) {
  for (const char* what : {"--explain", "--svg=arena.svg"}) {
    const Finished refused = plan({what, "--body", "step[32]"});
    EXPECT_EQ(refused.exit_code, 2);
    EXPECT_EQ(refused.out, "");
    EXPECT_NE(refused.err.find("--body 'step[32]': the plan has no such body; there are 'step[31]', 'step[23]', '"),
              std::string::npos)
        << refused.err;
  }
  const Finished alone = plan({"--body", "step[31]"});
  EXPECT_EQ(alone.exit_code, 2);
  EXPECT_NE(alone.err.find("; give one of them"), std::string::npos) << alone.err;
  const Finished curve = plan({"--body", "step[31]", "--svg=curve.svg", "--frontier"});
  EXPECT_EQ(curve.exit_code, 2);
  EXPECT_NE(curve.err.find("--svg draws; with --frontier --svg draws the curve"), std::string::npos) << curve.err;
}

}  // namespace
}  // namespace tidemark::tests
