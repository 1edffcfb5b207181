// What `tidemark plan --explain` tells: of which body, of which tensors, in words and in the object.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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
  EXPECT_NE(alone.err.find("--explain"), std::string::npos) << alone.err;
}

}  // namespace
}  // namespace tidemark::tests
