// `tidemark soak`: what it prints, and that it ends with 5 where memory grows.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>

#include "base/error.h"
#include "framework/cli/commands.h"
#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

constexpr size_t kLeakBytes = 64 << 10;

class SoakModels : public ::testing::TestWithParam<const char*> {};

TEST_P(SoakModels, AreStable) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, GetParam());
  const Finished finished = run_program(
      folder, {"soak", "--json", "-c", config, "--steps", "120", "--set", "checkpoint.dir=" + folder + "/run"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = finished.json();
  EXPECT_EQ(json["verdict"], "stable") << json["trends"];
  EXPECT_EQ(json["bytes_per_step"], 0);
  EXPECT_TRUE(json["category"].is_null());
  ASSERT_EQ(json["samples"].size(), 120u);
  const auto &first = json["samples"].front(), &last = json["samples"].back();
  EXPECT_EQ(last["step"], 120);
  EXPECT_GT(first["allocated"]["weights"], 0);
  EXPECT_EQ(first["allocated"], last["allocated"]);
  EXPECT_GE(first["reserved_bytes"], first["allocated_bytes"]);
  EXPECT_LE(last["reserved_bytes"], json["budget_bytes"]);
  EXPECT_GT(last["device_free_bytes"], 0);
  EXPECT_EQ(last["unattributed_bytes"], 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/run")) << "soaking leaves no checkpoints";
}

INSTANTIATE_TEST_SUITE_P(Tiny, SoakModels, ::testing::Values("mlp", "resnet", "gpt", "lstm"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Soak, RequestsGiveTheirCacheBack) {
  const std::string folder = test_folder();
  const Finished finished = run_program(folder, {"soak", "--json", "-c", write_tiny_config(folder, "gpt"), "--steps",
                                                 "60", "--generate", "--tokens", "12"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const auto json = finished.json();
  EXPECT_EQ(json["what"], "generate");
  ASSERT_EQ(json["samples"].size(), 60u);
  for (const auto& sample : json["samples"]) {
    EXPECT_GT(sample["kv_cache_peak_bytes"], 0);
    EXPECT_FALSE(sample["allocated"].contains("kv_cache"));
    EXPECT_GT(sample["allocated"]["weights"], 0);
    EXPECT_EQ(sample["unattributed_bytes"], 0);
  }
}

// The weights alone are above a low watermark: one warning, however many tokens follow.
TEST(Watermark, IsWarnedOfOnceWhereNoPlanHasProvenThatItFits) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "gpt");
  const auto warnings = [&](const std::string& watermark) {
    const Finished finished =
        run_program(folder, {"generate", "-c", config, "--tokens", "8", "--set", "memory.watermark=" + watermark});
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    int count = 0;
    for (size_t at = 0; (at = finished.err.find("event=memory_watermark", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_EQ(warnings("1"), 1);
  EXPECT_EQ(warnings("90%"), 0);
  const Finished trained = run_program(folder, {"train", "-c", config, "--set", "memory.watermark=1"});
  EXPECT_EQ(trained.exit_code, 0) << trained.err;
  EXPECT_EQ(trained.err.find("event=memory_watermark"), std::string::npos) << "what is planned fits";
}

TEST(Soak, RefusesWhatItCannotRepeat) {
  const std::string folder = test_folder();
  const std::string mlp = write_tiny_config(folder, "mlp");
  EXPECT_EQ(run_program(folder, {"soak", "-c", mlp, "--steps", "0"}).exit_code, 2);
  EXPECT_EQ(run_program(folder, {"soak", "-c", mlp, "--tokens", "5"}).exit_code, 2);
  const Finished no_text = run_program(folder, {"soak", "-c", mlp, "--generate"});
  EXPECT_EQ(no_text.exit_code, 2);
  EXPECT_NE(no_text.err.find("does not go on with a text"), std::string::npos) << no_text.err;
}

// Keeps 64 KiB for every line that is flushed: a leak per step that the program knows nothing of.
class LeakingBuffer : public std::stringbuf {
 protected:
  int sync() override {
    kept_.push_back(std::make_unique<char[]>(kLeakBytes));
    std::memset(kept_.back().get(), 1, kLeakBytes);
    return std::stringbuf::sync();
  }

 private:
  std::vector<std::unique_ptr<char[]>> kept_;
};

// What soak prints to `buffer`, and its exit code.
int soak_into(std::stringbuf& buffer, const std::string& config) {
  std::vector<std::string> words = {"soak", "-c", config, "--steps", "200"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  std::streambuf* const own = std::cout.rdbuf(&buffer);
  const int code = cli::run_soak(static_cast<int>(arguments.size()), arguments.data());
  std::cout.rdbuf(own);
  return code;
}

TEST(Soak, EndsWithFiveWhereMemoryGrowsAndNamesIt) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  LeakingBuffer leaking;
  EXPECT_EQ(soak_into(leaking, config), 5) << leaking.str();
  EXPECT_NE(leaking.str().find("\ngrowing: host by 6"), std::string::npos) << leaking.str();
  std::stringbuf calm;
  EXPECT_EQ(soak_into(calm, config), 0) << calm.str();
  EXPECT_NE(calm.str().find("\nstable over 200 steps"), std::string::npos) << calm.str();
  EXPECT_NE(calm.str().find("kv cache"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::tests
