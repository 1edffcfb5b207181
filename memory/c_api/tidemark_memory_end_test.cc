// What processes leave behind that use the C interface and end without a word, as programs with it do.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "device/sim/child_process.h"
#include "device/sim/sim_ledger.h"
#include "device/sim/sim_test_name.h"
#include "memory/c_api/tidemark_memory.h"

namespace tidemark {
namespace {

std::string ledger_path(const std::string& name) {
  return std::string(SimLedger::kDirectory) + "/tidemark-sim." + std::to_string(::getuid()) + "." + name;
}

constexpr int kFailed = 3;

// Takes a block of the device, tells, and calls exit() a moment later with the block still taken.
std::unique_ptr<ChildProcess> user(const std::string& name, useconds_t moment_us) {
  return std::make_unique<ChildProcess>([=](const auto& tell) {
    const std::string setting = "sim:" + name + "?size=256MiB";
    if (tidemark_use_device(0, setting.c_str()) != 0 || !tidemark_alloc(1 << 20, 0, nullptr)) std::_Exit(kFailed);
    tell();
    ::usleep(moment_us);
    std::exit(0);
  });
}

TEST(CApiEnd, TheLedgerGoesWithItsLastUser) {
  const std::string name = sim_test_name("c_end");
  const auto first = user(name, 0);
  EXPECT_EQ(first->wait_for_end(), 0);
  EXPECT_FALSE(std::filesystem::exists(ledger_path(name)));

  const SimLedger stays(name, int64_t{256} << 20);
  const auto second = user(name, 0);
  EXPECT_EQ(second->wait_for_end(), 0);
  EXPECT_TRUE(std::filesystem::exists(ledger_path(name))) << "somebody is there";
  EXPECT_EQ(stays.books().foreign_bytes, 0);
}

TEST(CApiEnd, ProcessesThatComeAndGoAtOnceLeaveNothing) {
  std::mt19937 random(5);
  for (int round = 0; round < 25; ++round) {
    const std::string name = sim_test_name("c_crowd");
    std::vector<std::unique_ptr<ChildProcess>> crowd;
    for (int i = 0; i < 8; ++i) {
      crowd.push_back(user(name, random() % 2 == 0 ? 0 : random() % 4000));
      const bool waits = random() % 4 == 0;
      EXPECT_TRUE(!waits || crowd.back()->wait_for_tell());
    }
    for (const auto& process : crowd) EXPECT_EQ(process->wait_for_end(), 0);
    EXPECT_FALSE(std::filesystem::exists(ledger_path(name))) << "round " << round;
  }
}

TEST(CApiEnd, AForkedChildEndsNothingOfItsParents) {
  const std::string name = sim_test_name("c_fork");
  ChildProcess parent([&](const auto&) {
    const std::string setting = "sim:" + name + "?size=256MiB";
    if (tidemark_use_device(0, setting.c_str()) != 0 || !tidemark_alloc(1 << 20, 0, nullptr)) std::_Exit(kFailed);
    ChildProcess child([](const auto&) { std::exit(0); });
    if (child.wait_for_end() != 0 || !std::filesystem::exists(ledger_path(name))) std::_Exit(kFailed + 1);
    std::exit(0);
  });
  EXPECT_EQ(parent.wait_for_end(), 0);
  EXPECT_FALSE(std::filesystem::exists(ledger_path(name)));
}

}  // namespace
}  // namespace tidemark
