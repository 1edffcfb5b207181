#include "tests/faults/runs.h"

#include "tests/integration/tiny_data.h"

namespace tidemark::tests {

void StoppedRun::SetUp() {
  folder_ = test_folder();
  config_ = write_tiny_config(folder_, model_);
}

std::vector<std::string> StoppedRun::command(const std::string& dir, const std::vector<std::string>& more) const {
  std::vector<std::string> arguments = {"train", "--json", "-c", config_};
  for (const std::string& assignment :
       {"checkpoint.dir=" + path(dir), std::string("checkpoint.every=3"), "train.steps=" + std::to_string(kSteps),
        std::string("train.eval_every=5"), std::string("train.log_every=1"), std::string("train.schedule=cosine")})
    arguments.insert(arguments.end(), {"--set", assignment});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

Finished StoppedRun::train(const std::string& dir, const std::vector<std::string>& more) const {
  return run_program(folder_, command(dir, more));
}

nlohmann::json& StoppedRun::reference() {
  if (reference_.is_null()) {
    const Finished finished = train("reference");
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    reference_ = finished.json();
    EXPECT_EQ(reference_["steps"], kSteps);
  }
  return reference_;
}

void StoppedRun::expect_continues(const Finished& resumed) {
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  nlohmann::json report = resumed.json();
  EXPECT_EQ(report["steps"], reference()["steps"]);
  EXPECT_EQ(report["interrupted"], false);
  const auto first = report["first_step"].get<size_t>();
  const auto all = reference()["losses"].get<std::vector<double>>();
  ASSERT_LE(first, all.size());
  EXPECT_EQ(report["losses"].get<std::vector<double>>(),
            std::vector<double>(all.begin() + static_cast<int64_t>(first), all.end()));
  EXPECT_EQ(report["parameters_sha256"], reference()["parameters_sha256"]);
  if (first < all.size()) {
    EXPECT_EQ(report["eval"], reference()["eval"]);
  }
}

}  // namespace tidemark::tests
