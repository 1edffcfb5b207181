// `tidemark generate` as a process: a net that was trained goes on with its text, and every way in which that can fail.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

namespace fs = std::filesystem;

// 47 bytes, so that windows of 64 begin at every one of them.
constexpr std::string_view kVerse = "the tide comes in, the tide goes out to sea, \n";

std::string verses(size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += kVerse;
  return text.substr(0, bytes);
}

class Generate : public ::testing::Test {
 protected:
  // One net for all tests; its own process writes the checkpoints.
  static void SetUpTestSuite() {
    folder_ = ::testing::TempDir() + "generate_suite";
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    write_file(folder_ + "/text.txt", verses(12'000));
    config_ = folder_ + "/verse.yaml";
    write_file(config_,
               "model: {kind: gpt, layers: 2, heads: 2, width: 48, context: 64}\n"
               "data: {kind: text, path: text.txt}\n"
               "train: {global_batch: 16, steps: 150, optimizer: adamw, lr: 5.0e-3, threads: 1, seed: 3, "
               "eval_every: 1000}\n"
               "memory: {recompute: none, budget: 256MiB}\ndevice: cpu\ncheckpoint: {dir: " +
                   folder_ + "/run, every: 1000}\n");
    const Finished trained = run_program(folder_, {"train", "-c", config_});
    ASSERT_EQ(trained.exit_code, 0) << trained.err;
  }

  static Finished generate(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "generate");
    return run_program(folder_, arguments);
  }
  static std::vector<std::string> greedy(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"-c", config_,    "--prompt", "the tide c", "--temperature",
                                          "0",  "--tokens", "50"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
  }
  static std::string expected() { return verses(60).substr(10); }

  static inline std::string folder_, config_;
};

TEST_F(Generate, TheTextThatTheNetHasLearnt) {
  const Finished finished = generate(greedy({"--json"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const nlohmann::json report = finished.json();
  EXPECT_EQ(report["text"], expected());
  EXPECT_EQ(report["prompt"], "the tide c");
  EXPECT_EQ(report["tokens"], 50);
  EXPECT_EQ(report["finish_reason"], "tokens");
  EXPECT_EQ(report["step"], 150);
  EXPECT_EQ(report["checkpoint"], folder_ + "/run/step-00000150");
  EXPECT_EQ(report["samples"].size(), 1u);
  EXPECT_EQ(report["samples"][0]["token_ids"].size(), 50u);
  EXPECT_GT(report["tokens_per_second"], 0.0);
}

TEST_F(Generate, EveryByteIsCounted) {
  const nlohmann::json report = generate(greedy({"--json"})).json();
  // 59 of the 60 tokens were read: four blocks of 16, of 2 layers with 2 heads of 24 + 32 floats.
  EXPECT_EQ(report["kv_cache_used_bytes"], 4 * 16 * 2 * 2 * (24 + 32) * 4);
  EXPECT_GE(report["kv_cache_bytes"], report["kv_cache_used_bytes"]);
  EXPECT_GT(report["weights_bytes"], 2 * 12 * 48 * 48 * 4);
  EXPECT_GT(report["allocated_peak_bytes"], report["weights_bytes"]);
  EXPECT_GE(report["reserved_peak_bytes"].get<int64_t>(),
            report["allocated_peak_bytes"].get<int64_t>() + report["kv_cache_bytes"].get<int64_t>());
  EXPECT_LE(report["reserved_peak_bytes"], report["budget_bytes"]);
  EXPECT_EQ(report["budget_bytes"], 256 << 20);
}

TEST_F(Generate, TheTextAloneIsOnStandardOutput) {
  const Finished whole = generate(greedy({})), streamed = generate(greedy({"--stream"}));
  EXPECT_EQ(whole.out, verses(60) + "\n");
  EXPECT_EQ(streamed.out, whole.out);
  EXPECT_NE(whole.err.find("50 tokens, "), std::string::npos) << whole.err;
  EXPECT_NE(whole.err.find("key/value cache 2.0 MiB"), std::string::npos) << whole.err;
}

TEST_F(Generate, ACheckpointBringsItsConfiguration) {
  for (const char* checkpoint : {"/run", "/run/step-00000150"}) {
    const Finished finished = generate({"--checkpoint", folder_ + checkpoint, "--prompt", "the tide c", "--temperature",
                                        "0", "--tokens", "50", "--json"});
    ASSERT_EQ(finished.exit_code, 0) << finished.err;
    EXPECT_EQ(finished.json()["text"], expected());
  }
  const Finished first = generate(greedy({"--checkpoint", folder_ + "/run/step-00000000", "--json"}));
  EXPECT_NE(first.json()["text"], expected()) << "the first checkpoint has learnt nothing";
}

TEST_F(Generate, SeedAndSampleMakeTheText) {
  const auto samples = [&](const char* seed) {
    return generate({"-c", config_, "--temperature", "3", "--tokens", "20", "--samples", "3", "--seed", seed, "--json"})
        .json()["samples"];
  };
  const nlohmann::json first = samples("1");
  EXPECT_EQ(samples("1"), first);
  EXPECT_NE(samples("2"), first);
  EXPECT_EQ(first.size(), 3u);
  EXPECT_NE(first[0], first[1]);
  const Finished likeliest = generate(
      {"-c", config_, "--prompt", "the tide c", "--tokens", "50", "--temperature", "3", "--top-k", "1", "--json"});
  EXPECT_EQ(likeliest.json()["text"], expected());
}

TEST_F(Generate, EndsAtTheContextAndSaysSo) {
  const Finished finished = generate({"-c", config_, "--prompt", "the tide c", "--tokens", "1000"});
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out.size(), 64u + 1);
  EXPECT_NE(finished.err.find("no position after 64 tokens"), std::string::npos) << finished.err;
}

TEST_F(Generate, WithoutACheckpointTheInitialValuesSpeakAndItIsSaid) {
  const Finished finished = generate(greedy({"--set", "checkpoint.dir=" + folder_ + "/none", "--json"}));
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.json()["checkpoint"], nullptr);
  EXPECT_NE(finished.err.find("initial values"), std::string::npos) << finished.err;
}

TEST_F(Generate, ASignalEndsItAfterTheTokenInHand) {
  Program program(folder_, {"generate", "-c", config_, "--set", "checkpoint.dir=", "--set", "model.positions=200000",
                            "--tokens", "200000", "--json"});
  ASSERT_TRUE(program.wait_for("event=weights"));
  program.send(SIGINT);
  const Finished finished = program.wait();
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_EQ(finished.json()["finish_reason"], "stopped");
  EXPECT_GE(finished.json()["tokens"], 1);
}

TEST_F(Generate, EachFailureHasItsCode) {
  struct Failure {
    std::vector<std::string> arguments;
    int code;
    std::string words;
  };
  const Failure failures[] = {
      {{}, 2, "needs -c FILE"},
      {{"-c", config_, "--stream", "--json"}, 2, "--stream takes one sample"},
      {{"-c", config_, "--tokens", "0"}, 2, "--tokens"},
      {{"-c", config_, "--temperature", "-1"}, 2, "--temperature"},
      {{"-c", config_, "--seed", "-1"}, 2, "--seed"},
      {{"-c", config_, "--prompt", std::string(64, 'x')}, 2, "shorten the prompt"},
      {{"-c", config_, "--prompt", ""}, 2, "the prompt is empty"},
      {{"-c", config_, "--set", "model.layers=3"}, 2, "it has no tensor 'layer2/attention/norm/weight'"},
      {{"-c", config_, "--set", "model.width=96"}, 2, "is f32[256,48] there, f32[256,96] here"},
      {{"-c", write_tiny_config(folder_, "mlp")}, 2, "does not go on with a text"},
      {{"-c", config_, "--set", "memory.budget=2MiB", "--samples", "60"}, 3, "memory.budget"},
      {{"-c", config_, "--checkpoint", folder_ + "/absent"}, 4, "no checkpoint is in"},
  };
  for (const Failure& failure : failures) {
    const Finished finished = generate(failure.arguments);
    EXPECT_EQ(finished.exit_code, failure.code) << finished.err;
    EXPECT_NE(finished.err.find(failure.words), std::string::npos) << failure.words << " in\n" << finished.err;
    EXPECT_EQ(finished.out, "");
  }
}

// Case: heads change no shape; the weights loaded, and the text was nonsense without a word.
TEST_F(Generate, AKeyOfTheModelThatNoTensorShowsIsNamed) {
  const Finished same = generate(greedy({"--checkpoint", folder_ + "/run"}));
  EXPECT_EQ(same.err.find("weights_differ"), std::string::npos) << same.err;
  const Finished other = generate(greedy({"--checkpoint", folder_ + "/run", "--set", "model.heads=1"}));
  EXPECT_EQ(other.exit_code, 0) << other.err;
  EXPECT_NE(other.err.find("event=weights_differ"), std::string::npos) << other.err;
  EXPECT_NE(other.err.find("model.heads: saved"), std::string::npos) << other.err;
}

TEST_F(Generate, ADamagedCheckpointIsRefused) {
  const std::string copy = folder_ + "/damaged";
  fs::remove_all(copy);
  fs::copy(folder_ + "/run/step-00000150", copy, fs::copy_options::recursive);
  std::fstream file(copy + "/tensors.safetensors", std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-5, std::ios::end);
  file.put('!');
  file.close();
  const Finished finished = generate({"-c", config_, "--checkpoint", copy});
  EXPECT_EQ(finished.exit_code, 4) << finished.err;
  EXPECT_NE(finished.err.find("tensors.safetensors"), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace tidemark::tests
