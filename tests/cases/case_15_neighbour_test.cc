// Case 15: a neighbour takes memory of the device. It is shown as foreign and nowhere else, and what it leaves is
// told before a run starts.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/error.h"
#include "device/sim/sim_test_name.h"
#include "tests/integration/program.h"
#include "tests/integration/scrape.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kTotal = 1024 * kMiB;
constexpr int64_t kTaken = 512 * kMiB;

std::string inside(const std::string& folder, const std::string& name) {
  std::filesystem::create_directories(folder + "/" + name);
  return folder + "/" + name;
}

std::string new_device() { return "sim:" + sim_test_name("case15"); }

void expect_all_figures_add_up(const DeviceMemory& device, int64_t foreign_bytes) {
  const DeviceUse use = device.use();
  EXPECT_EQ(use.foreign_bytes, foreign_bytes);
  EXPECT_EQ(use.own_bytes, device.committed_bytes());
  EXPECT_EQ(use.total_bytes, use.own_bytes + use.foreign_bytes + use.free_bytes);
}

TEST(Case15, NeighboursMemoryIsForeignAndOnlyThere) {
  const std::string folder = test_folder(), device = new_device();
  TinyRun tiny(write_tiny_config(folder, "mlp"), {"device=" + device + "?size=1GiB"});
  tiny.start();
  const int64_t own_bytes = tiny.device().committed_bytes();
  EXPECT_EQ(own_bytes, tiny.planned().planned_peak_bytes);
  EXPECT_EQ(tiny.device().measured_bytes(), own_bytes);
  expect_all_figures_add_up(tiny.device(), 0);

  Program neighbour(folder, {"hold", "--device", device, "--bytes", "512MiB"});
  ASSERT_TRUE(neighbour.wait_for("holding 512.0 MiB of device '" + device + "'"));
  EXPECT_EQ(tiny.device().committed_bytes(), own_bytes);
  EXPECT_EQ(tiny.device().measured_bytes(), own_bytes);
  EXPECT_EQ(tiny.device().free_bytes(), kTotal - kTaken - own_bytes);
  expect_all_figures_add_up(tiny.device(), kTaken);
  tiny.train();
  expect_all_figures_add_up(tiny.device(), kTaken);

  neighbour.send(SIGTERM);
  const Finished finished = neighbour.wait();
  EXPECT_EQ(finished.exit_code, 0);
  EXPECT_EQ(finished.out, "") << "nothing without --json";
  expect_all_figures_add_up(tiny.device(), 0);
}

TEST(Case15, MetricsShowTheNeighbourAsForeignAndNothingElseMoves) {
  const std::string folder = test_folder(), device = new_device();
  const int port = free_port();
  Program run(inside(folder, "run"),
              {"train", "--json", "-c", write_tiny_config(folder, "mlp"), "--set", "device=" + device + "?size=64MiB",
               "--set", "train.steps=100000", "--set", "train.log_every=1", "--set",
               "metrics.listen=127.0.0.1:" + std::to_string(port)});
  ASSERT_TRUE(run.wait_for("step 5/"));
  auto before = scrape(port);
  EXPECT_EQ(before["tidemark_device_memory_foreign_bytes"], 0);
  Program neighbour(inside(folder, "hold"), {"hold", "--device", device, "--bytes", "16MiB"});
  ASSERT_TRUE(neighbour.wait_for("holding 16.0 MiB"));
  auto beside = scrape(port);
  EXPECT_EQ(beside["tidemark_device_memory_foreign_bytes"], 16 * kMiB);
  EXPECT_EQ(beside["tidemark_device_memory_free_bytes"], before["tidemark_device_memory_free_bytes"] - 16 * kMiB);
  EXPECT_EQ(beside["tidemark_device_memory_total_bytes"], 64 * kMiB);
  for (const char* same : {"memory_reserved_bytes", "memory_cached_bytes", "memory_slack_bytes",
                           "memory_step_floor_bytes", "memory_allocated_peak_bytes"}) {
    EXPECT_EQ(beside[std::string("tidemark_") + same], before[std::string("tidemark_") + same]) << same;
  }
  for (auto* scraped : {&before, &beside}) EXPECT_EQ((*scraped)["tidemark_device_memory_unattributed_bytes"], 0);
  run.send(SIGINT);
  EXPECT_EQ(run.wait().exit_code, 0);
  neighbour.send(SIGTERM);
  EXPECT_EQ(neighbour.wait().exit_code, 0);
}

TEST(Case15, RunThatDoesNotFitBesideANeighbourIsRefusedWithBothNumbers) {
  const std::string folder = test_folder(), device = new_device();
  const std::string config = write_tiny_config(folder, "mlp");
  Program neighbour(folder, {"hold", "--device", device + "?size=32MiB", "--bytes", "30MiB", "--json"});
  ASSERT_TRUE(neighbour.wait_for("holding 30.0 MiB"));
  for (const std::string& device_setting : {device, device + "?size=32MiB"}) {
    const Finished train =
        run_program(inside(folder, "train"), {"train", "-c", config, "--set", "device=" + device_setting});
    EXPECT_EQ(train.exit_code, 3);
    EXPECT_NE(train.err.find("device '" + device + "' can give 2.0 MiB of 32.0 MiB"), std::string::npos) << train.err;
  }
  neighbour.send(SIGKILL);
  EXPECT_EQ(neighbour.wait().signal, SIGKILL);
  const Finished again = run_program(inside(folder, "train"),
                                     {"train", "-c", config, "--json", "--set", "device=" + device + "?size=32MiB"});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(again.json()["measured_peak_bytes"], again.json()["planned_peak_bytes"]);
}

TEST(Case15, SimulatedDeviceTrainsTheSameBits) {
  const std::string folder = test_folder();
  for (const char* model : {"mlp", "resnet", "gpt"}) {
    const std::string config = write_tiny_config(folder, model);
    const TinyResult cpu = train_tiny(config), sim = train_tiny(config, {"device=" + new_device() + "?size=256MiB"});
    EXPECT_EQ(sim.losses, cpu.losses) << model;
    EXPECT_EQ(sim.parameters_sha256, cpu.parameters_sha256) << model;
    EXPECT_EQ(sim.report.measured_peak_bytes, cpu.report.measured_peak_bytes) << model;
  }
}

TEST(Case15, HoldIsRefusedWithBothNumbers) {
  const std::string folder = test_folder(), device = new_device();
  Program first(folder, {"hold", "--device", device + "?size=16MiB", "--bytes", "9MiB", "--json"});
  ASSERT_TRUE(first.wait_for("holding 10.0 MiB"));  // whole pages
  const Finished second =
      run_program(inside(folder, "second"), {"hold", "--device", device, "--bytes", "8MiB", "--json"});
  EXPECT_EQ(second.exit_code, 3);
  EXPECT_EQ(second.out, "");
  EXPECT_NE(second.err.find("is asked for 8.0 MiB more with 0 B committed, 6.0 MiB of 16.0 MiB can be had"),
            std::string::npos)
      << second.err;
  const Finished third = run_program(inside(folder, "third"),
                                     {"hold", "--device", device, "--bytes", "6MiB", "--seconds", "0.05", "--json"});
  EXPECT_EQ(third.exit_code, 0) << third.err;
  EXPECT_EQ(third.json()["held_bytes"], 6 * kMiB);
  EXPECT_EQ(third.json()["device_foreign_bytes"], 10 * kMiB);
  EXPECT_EQ(third.json()["device_free_bytes"], 0);
  first.send(SIGINT);
  const Finished ended = first.wait();
  EXPECT_EQ(ended.exit_code, 0);
  EXPECT_EQ(ended.json()["held_bytes"], 10 * kMiB);
}

TEST(Case15, HoldSaysWhatIsWrongWithItsCommandLine) {
  const std::string folder = test_folder(), device = new_device();
  EXPECT_EQ(run_program(folder, {"hold", "--bytes", "8MiB"}).exit_code, 2);
  EXPECT_EQ(run_program(folder, {"hold", "--device", "sim:a b?size=8MiB", "--bytes", "8MiB"}).exit_code, 2);
  EXPECT_EQ(run_program(folder, {"hold", "--device", device + "?size=8MiB", "--bytes", "0"}).exit_code, 2);
  const Finished nobody = run_program(folder, {"hold", "--device", device, "--bytes", "8MiB"});
  EXPECT_EQ(nobody.exit_code, 1);
  EXPECT_NE(nobody.err.find("is not there and has no size"), std::string::npos) << nobody.err;
}

}  // namespace
}  // namespace tidemark::tests
