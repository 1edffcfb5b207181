// Metrics of a run, scraped over HTTP while it goes on.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <map>
#include <sstream>
#include <thread>

#include "monitoring/testing/http_get.h"
#include "tests/integration/program.h"
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

// A port that nobody had a moment ago.
int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  EXPECT_EQ(::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(descriptor);
  return ntohs(address.sin_port);
}

// Series without their braces, values of equal names added up.
std::map<std::string, double> totals(const std::string& body) {
  std::map<std::string, double> sums;
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line[0] == '#') continue;
    sums[line.substr(0, line.find_first_of("{ "))] += std::stod(line.substr(line.rfind(' ') + 1));
  }
  return sums;
}

class Metrics : public ::testing::Test {
 protected:
  std::map<std::string, double> scrape() {
    for (int attempt = 0; attempt < 2000; ++attempt) {
      const monitoring::HttpReply reply = monitoring::http_get("127.0.0.1", port_, "/metrics");
      if (reply.status == 200) {
        text_ = reply.body;
        return totals(reply.body);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "no answer on port " << port_;
    return {};
  }

  int port_ = free_port();
  std::string text_;
};

TEST_F(Metrics, AreServedWhileTheRunGoesOn) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "mlp");
  const auto plan = run_program(folder, {"plan", "--json", "-c", config}).json();
  const auto planned = plan["planned_peak_bytes"].get<double>();
  Program program(folder, {"train", "--json", "-c", config, "--set", "train.steps=100000", "--set", "train.log_every=1",
                           "--set", "metrics.listen=127.0.0.1:" + std::to_string(port_)});
  ASSERT_TRUE(program.wait_for("step 5/"));
  auto first = scrape();
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
  auto second = scrape();
  EXPECT_GT(second["tidemark_steps_total"], first["tidemark_steps_total"]);
  EXPECT_GT(second["tidemark_samples_total"], first["tidemark_samples_total"]);
  EXPECT_EQ(second["tidemark_device_alloc_calls_total"], first["tidemark_device_alloc_calls_total"]);
  EXPECT_EQ(second.size(), first.size()) << "every series is there from the start";

  program.send(SIGINT);
  const Finished finished = program.wait();
  EXPECT_EQ(finished.exit_code, 0) << finished.err;
  EXPECT_GE(finished.json()["steps"], second["tidemark_steps_total"]);
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
  const Finished finished = run_program(folder, {"train", "--json", "-c", config, "--set", "metrics.listen=" + listen});
  ::close(descriptor);
  EXPECT_NE(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "");
  EXPECT_NE(finished.err.find(listen), std::string::npos) << finished.err;
}

}  // namespace
}  // namespace tidemark::tests
