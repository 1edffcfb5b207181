// Metrics of a run, scraped over HTTP while it goes on.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <string>
#include <vector>

#include "base/file.h"
#include "tests/integration/program.h"
#include "tests/integration/scrape.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

// All that the documentation promises; histograms by their counts.
constexpr const char* kNames[] = {"memory_allocated_bytes",
                                  "memory_reserved_bytes",
                                  "memory_cached_bytes",
                                  "memory_slack_bytes",
                                  "memory_allocated_peak_bytes",
                                  "memory_reserved_peak_bytes",
                                  "memory_budget_bytes",
                                  "memory_watermark_bytes",
                                  "memory_step_floor_bytes",
                                  "largest_free_block_bytes",
                                  "device_memory_total_bytes",
                                  "device_memory_free_bytes",
                                  "device_memory_context_bytes",
                                  "device_memory_foreign_bytes",
                                  "device_memory_unattributed_bytes",
                                  "arena_planned_peak_bytes",
                                  "arena_lower_bound_bytes",
                                  "arena_capacity_bytes",
                                  "comm_memory_bytes",
                                  "batch_samples",
                                  "accumulation_steps",
                                  "train_loss",
                                  "learning_rate",
                                  "device_alloc_calls_total",
                                  "alloc_retries_total",
                                  "ooms_total",
                                  "memory_watermark_crossings_total",
                                  "replans_total",
                                  "recomputed_ops_total",
                                  "recompute_seconds_total",
                                  "batch_changes_total",
                                  "comm_bytes_total",
                                  "samples_total",
                                  "tokens_total",
                                  "steps_total",
                                  "step_duration_seconds_count",
                                  "plan_duration_seconds_count",
                                  "build_info",
                                  "run_info"};

class Metrics : public ::testing::Test {
 protected:
  const int port_ = free_port();
};

TEST_F(Metrics, AreServedWhileTheRunGoesOn) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const auto plan = run_program(folder, {"plan", "--json", "-c", config}).json();
  const auto planned = plan["planned_peak_bytes"].get<double>();
  Program program(folder, {"train", "--json", "-c", config, "--set", "train.steps=100000", "--set", "train.log_every=1",
                           "--set", "metrics.listen=127.0.0.1:" + std::to_string(port_)});
  ASSERT_TRUE(program.wait_for("step 5/"));
  auto first = scrape(port_);
  const double state = plan["categories"]["weights"].get<double>() + plan["categories"]["optimizer"].get<double>();
  EXPECT_EQ(first["tidemark_memory_reserved_bytes"], planned);
  EXPECT_EQ(first["tidemark_memory_reserved_peak_bytes"], planned);
  EXPECT_EQ(first["tidemark_arena_planned_peak_bytes"], planned);
  EXPECT_GE(first["tidemark_memory_allocated_bytes"], state) << "weights and optimizer state are always live";
  EXPECT_LE(first["tidemark_memory_allocated_bytes"], planned);
  EXPECT_GE(first["tidemark_steps_total"], 5);
  EXPECT_EQ(first["tidemark_ooms_total"], 0) << "features not in use export 0";
  EXPECT_GT(first["tidemark_train_loss"], 0);
  EXPECT_EQ(first["tidemark_step_duration_seconds_count"], first["tidemark_steps_total"]);
  for (const char* name : kNames) EXPECT_TRUE(first.contains(std::string("tidemark_") + name)) << name;

  ASSERT_TRUE(program.wait_for("step 20/"));
  auto second = scrape(port_);
  EXPECT_GT(second["tidemark_steps_total"], first["tidemark_steps_total"]);
  EXPECT_GT(second["tidemark_samples_total"], first["tidemark_samples_total"]);
  EXPECT_EQ(second["tidemark_device_alloc_calls_total"], first["tidemark_device_alloc_calls_total"]);
  EXPECT_EQ(second.size(), first.size()) << "every series is there from the start";

  program.send(SIGINT);
  const Finished finished = program.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_GE(finished.json()["steps"], second["tidemark_steps_total"]);
}

TEST_F(Metrics, CountWhatRunsAgain) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "gpt");
  const std::vector<std::string> settings{
      "-c", config, "--set", "memory.recompute=auto", "--set", "memory.cost_file=" + folder + "/costs.json"};
  std::vector<std::string> plan{"plan", "--json", "--budget", "2MiB"};
  plan.insert(plan.end(), settings.begin(), settings.end());
  const int64_t budget = run_program(folder, plan).json()["least_budget_bytes"];
  std::vector<std::string> train{"train", "--json",
                                 "--set", "memory.budget=" + std::to_string(budget),
                                 "--set", "train.steps=100000",
                                 "--set", "train.log_every=1",
                                 "--set", "metrics.listen=127.0.0.1:" + std::to_string(port_)};
  train.insert(train.end(), settings.begin(), settings.end());
  Program program(folder, train);
  ASSERT_TRUE(program.wait_for("step 5/"));
  auto figures = scrape(port_);
  EXPECT_GE(figures["tidemark_recomputed_ops_total"], figures["tidemark_steps_total"]);
  EXPECT_GT(figures["tidemark_recompute_seconds_total"], 0);
  EXPECT_LT(figures["tidemark_recompute_seconds_total"], figures["tidemark_step_duration_seconds_sum"] / 2);
  program.send(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 0);
}

TEST_F(Metrics, AnAddressThatIsTakenIsSaidBeforeTraining) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port_));
  ASSERT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(descriptor, 1), 0);
  const std::string listen = "127.0.0.1:" + std::to_string(port_);
  std::vector<std::string> train = {"train", "--json", "-c", config, "--set", "metrics.listen=" + listen};
  const Finished finished = run_program(folder, train);
  EXPECT_EQ(finished.exit_code, 1);
  EXPECT_EQ(finished.out, "");
  const std::string line = "tidemark train: metrics address '" + listen +
                           "' cannot be bound: Address already in use; set metrics.listen to another port: "
                           "--set metrics.listen=127.0.0.1:0 takes any free one, --set metrics.listen= none\n";
  EXPECT_EQ(finished.err, line) << "before anything is planned";
  train.insert(train.end(), {"--set", "metrics.listen="});
  EXPECT_EQ(run_program(folder, train).exit_code, 0);
  ::close(descriptor);
}

TEST_F(Metrics, OfAnyFreePortAreWhereTheLogSays) {
  const std::string folder = test_folder();
  Program program(folder, {"train", "--json", "-c", write_tiny_config(folder, "mlp"), "--set", "train.steps=100000",
                           "--set", "train.log_every=1", "--set", "metrics.listen=127.0.0.1:0"});
  ASSERT_TRUE(program.wait_for("step 5/"));
  const std::string err = read_file(folder + "/err.txt"), head = "event=metrics_served url=http://127.0.0.1:";
  const size_t at = err.find(head);
  ASSERT_NE(at, std::string::npos) << err;
  EXPECT_GE(scrape(std::stoi(err.substr(at + head.size())))["tidemark_steps_total"], 5);
  program.send(SIGINT);
  EXPECT_EQ(program.wait().exit_code, 0);
}

}  // namespace
}  // namespace tidemark::tests
