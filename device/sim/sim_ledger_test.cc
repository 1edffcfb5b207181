#include "device/sim/sim_ledger.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/error.h"
#include "device/sim/child_process.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

template <class Body>
std::string refusal(ErrorCode code, Body body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  return "accepted";
}

TEST(SimLedger, ClientsShareOneSize) {
  const std::string name = sim_test_name("share");
  SimLedger first(name, 10), second(name, 10);
  EXPECT_TRUE(first.take(6));
  EXPECT_FALSE(second.take(5));
  EXPECT_TRUE(second.take(4));
  const SimBooks books = second.books();
  EXPECT_EQ(books.own_bytes, 4);
  EXPECT_EQ(books.foreign_bytes, 6);
  EXPECT_EQ(books.free_bytes(), 0);
  first.give_back(2);
  EXPECT_EQ(second.books().free_bytes(), 2);
}

TEST(SimLedger, AfterAllHaveLeftTheFileIsGoneAndTheBooksGoOn) {
  const std::string name = sim_test_name("leave");
  auto first = std::make_unique<SimLedger>(name, 10);
  auto second = std::make_unique<SimLedger>(name, 10);
  const std::string path = first->path();
  EXPECT_TRUE(first->take(6));
  first->leave();
  EXPECT_TRUE(std::filesystem::exists(path)) << "the second is there";
  EXPECT_EQ(second->books().foreign_bytes, 6) << "bytes of one that has left count until its process ends";
  second->leave();
  EXPECT_FALSE(std::filesystem::exists(path));
  first->give_back(2);
  EXPECT_FALSE(second->take(7));
  EXPECT_TRUE(second->take(6));

  const SimLedger other(name, 20);
  EXPECT_EQ(other.books().free_bytes(), 20) << "a new device";
  first.reset();
  second.reset();
  EXPECT_TRUE(std::filesystem::exists(path)) << "their end is not that of another file of the name";
}

TEST(SimLedger, TheLastThatStaysTakesTheFileOfThoseThatHaveLeftAlong) {
  const std::string name = sim_test_name("left");
  SimLedger left(name, 10);
  auto second = std::make_unique<SimLedger>(name, 10);
  left.leave();
  auto third = std::make_unique<SimLedger>(name, 0);
  second.reset();
  EXPECT_TRUE(std::filesystem::exists(left.path()));
  third.reset();
  EXPECT_FALSE(std::filesystem::exists(left.path()));
}

// Two of them can have 6 of 10 bytes at once only if their books are not the same.
TEST(SimLedger, WhoeverIsThereSharesTheBooksHoweverOftenTheFileComesAndGoes) {
  const std::string name = sim_test_name("crowd");
  std::atomic<int> holders = 0;
  std::atomic<int> together = 0;
  const std::string path = SimLedger(name, 10).path();
  const auto come_and_go = [&](uint32_t seed) {
    std::minstd_rand random(seed);
    for (int i = 0; i < 3000; ++i) {
      SimLedger ledger(name, 10);
      if (ledger.take(6)) {
        if (++holders > 1) ++together;
        std::this_thread::yield();
        --holders;
        ledger.give_back(6);
      }
      if (random() % 2 == 0) ledger.leave();
    }
  };
  {
    std::vector<std::jthread> crowd;
    for (uint32_t seed = 1; seed <= 4; ++seed) crowd.emplace_back(come_and_go, seed);
  }
  EXPECT_EQ(together, 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SimLedger, AnotherSizeIsRefusedWithBothNumbersWhileClientsAreThere) {
  const std::string name = sim_test_name("size");
  {
    const SimLedger ledger(name, 64 * kMiB);
    EXPECT_EQ(refusal(ErrorCode::config, [&] { SimLedger(name, 32 * kMiB); }),
              "device 'sim:" + name +
                  "' has 67108864 bytes (64.0 MiB) and is in use, 33554432 bytes (32.0 MiB) are asked for; ask for the "
                  "same size or take another name");
    EXPECT_EQ(SimLedger(name, 0).total_bytes(), 64 * kMiB);
  }
  EXPECT_EQ(SimLedger(name, 32 * kMiB).total_bytes(), 32 * kMiB);
}

TEST(SimLedger, LastClientRemovesTheFile) {
  const std::string name = sim_test_name("last");
  auto first = std::make_unique<SimLedger>(name, 10);
  auto second = std::make_unique<SimLedger>(name, 0);
  const std::string path = first->path();
  first.reset();
  EXPECT_TRUE(std::filesystem::exists(path));
  second.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SimLedger, SizeIsNeededWhereNobodyIs) {
  const std::string name = sim_test_name("nobody");
  EXPECT_EQ(refusal(ErrorCode::device, [&] { SimLedger(name, 0); }),
            "device 'sim:" + name + "' is not there and has no size; write sim:" + name + "?size=2GiB");
  EXPECT_EQ(SimLedger(name, 8).total_bytes(), 8);
}

TEST(SimLedger, BadNamesAndDirectoriesAreRefused) {
  for (const std::string& name : {std::string(), std::string("a/b"), std::string("a b"), std::string(65, 'a')}) {
    EXPECT_NE(refusal(ErrorCode::config, [&] { SimLedger(name, 8); }), "accepted") << name;
  }
  EXPECT_NE(refusal(ErrorCode::device, [] { SimLedger("a", 8, "/no/such/directory"); }), "accepted");
}

TEST(SimLedger, SlotsEndAndAreUsedAgain) {
  const std::string name = sim_test_name("slots");
  std::vector<std::unique_ptr<SimLedger>> clients;
  for (int i = 0; i < SimLedger::kMaxClients; ++i) clients.push_back(std::make_unique<SimLedger>(name, 8));
  EXPECT_NE(refusal(ErrorCode::device, [&] { SimLedger(name, 8); }).find("has 64 clients"), std::string::npos);
  clients.erase(clients.begin() + 5);
  SimLedger(name, 8);
}

TEST(SimLedger, FileThatIsNoLedgerIsTakenOver) {
  const std::string name = sim_test_name("junk");
  const std::string path = SimLedger(name, 8).path();
  std::FILE* junk = std::fopen(path.c_str(), "w");
  std::fputs("not a ledger", junk);
  std::fclose(junk);
  SimLedger ledger(name, 8);
  EXPECT_TRUE(ledger.take(8));
  EXPECT_FALSE(ledger.take(1));
}

// The form of the file is told by its first word.
void flip_form(const std::string& path) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const int first = file.peek();
  file.seekp(0);
  file.put(static_cast<char>(first ^ 1));
}

TEST(SimLedger, AnotherFormOfTheFileIsLeftAloneWhileItsClientsLive) {
  const std::string name = sim_test_name("form");
  auto first = std::make_unique<SimLedger>(name, 100);
  const std::string path = first->path();
  EXPECT_TRUE(first->take(60));
  flip_form(path);
  EXPECT_EQ(
      refusal(ErrorCode::device, [&] { SimLedger(name, 100); }),
      "device 'sim:" + name + "' is in use by another version of this program; wait for its end or take another name");
  flip_form(path);
  EXPECT_EQ(SimLedger(name, 100).books().foreign_bytes, 60);
  const std::string copy = path + ".copy";
  std::filesystem::copy_file(path, copy);
  first.reset();
  std::filesystem::rename(copy, path);
  flip_form(path);
  EXPECT_EQ(SimLedger(name, 50).books().free_bytes(), 50) << "nobody is there";
  EXPECT_FALSE(std::filesystem::exists(path));
}

// A child that has taken 60 of 100 bytes and sleeps.
ChildProcess client_with_60(const std::string& name) {
  return ChildProcess([name](const auto& tell) {
    SimLedger theirs(name, 100);
    theirs.take(60);
    tell();
    pause();
  });
}

TEST(SimLedger, KilledClientsBytesAreBackAtOnce) {
  const std::string name = sim_test_name("killed");
  SimLedger ledger(name, 100);
  ChildProcess child = client_with_60(name);
  ASSERT_TRUE(child.wait_for_tell());
  EXPECT_EQ(ledger.books().foreign_bytes, 60);
  EXPECT_FALSE(ledger.take(41));
  child.kill();
  EXPECT_TRUE(ledger.take(41)) << "without asking for the figures first";
  EXPECT_EQ(ledger.books().foreign_bytes, 0);
}

TEST(SimLedger, KilledClientDoesNotKeepTheFile) {
  const std::string name = sim_test_name("kept");
  auto ledger = std::make_unique<SimLedger>(name, 100);
  const std::string path = ledger->path();
  ChildProcess child = client_with_60(name);
  ASSERT_TRUE(child.wait_for_tell());
  child.kill();
  ledger.reset();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(SimLedger, ClientThatDiesWithTheBooksLockedStopsNobody) {
  const std::string name = sim_test_name("inside");
  SimLedger ledger(name, 100);
  for (int round = 0; round < 5; ++round) {
    ChildProcess child([&](const auto& tell) {
      SimLedger theirs(name, 100);
      theirs.take(60);
      theirs.locked([&] {
        tell();
        pause();
      });
    });
    ASSERT_TRUE(child.wait_for_tell());
    child.kill();
    const auto before = std::chrono::steady_clock::now();
    EXPECT_TRUE(ledger.take(100)) << "round " << round;
    EXPECT_LT(std::chrono::steady_clock::now() - before, std::chrono::milliseconds(100));
    EXPECT_EQ(ledger.books().foreign_bytes, 0);
    ledger.give_back(100);
  }
}

// The system then shows the process as one that waits to be reaped.
TEST(SimLedger, ProcessWhoseFirstThreadHasEndedIsStillAClient) {
  const std::string name = sim_test_name("threads");
  SimLedger ledger(name, 100);
  ChildProcess child([&](const auto& tell) {
    auto* theirs = new SimLedger(name, 100);
    theirs->take(60);
    std::thread([&tell] {
      tell();
      pause();
    }).detach();
    ::syscall(SYS_exit, 0);
  });
  ASSERT_TRUE(child.wait_for_tell());
  const std::string stat = "/proc/" + std::to_string(child.pid()) + "/stat";
  const auto first_thread_has_ended = [&] {
    std::stringstream text;
    text << std::ifstream(stat).rdbuf();
    return text.str().find(") Z ") != std::string::npos;
  };
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!first_thread_has_ended() && std::chrono::steady_clock::now() < end) std::this_thread::yield();
  ASSERT_TRUE(first_thread_has_ended());
  EXPECT_EQ(ledger.books().foreign_bytes, 60);
  child.kill();
  EXPECT_EQ(ledger.books().foreign_bytes, 0);
}

TEST(SimLedger, FileOfKilledProcessesIsTakenOverWithAnySize) {
  const std::string name = sim_test_name("stale");
  ChildProcess child = client_with_60(name);
  ASSERT_TRUE(child.wait_for_tell());
  child.kill();
  EXPECT_NE(refusal(ErrorCode::device, [&] { SimLedger(name, 0); }), "accepted") << "nobody is there";
  ChildProcess again = client_with_60(name);
  ASSERT_TRUE(again.wait_for_tell());
  again.kill();
  SimLedger ledger(name, 50);
  EXPECT_EQ(ledger.books().free_bytes(), 50);
}

TEST(SimLedger, ForkedChildIsNoClient) {
  const std::string name = sim_test_name("fork");
  auto ledger = std::make_unique<SimLedger>(name, 100);
  ledger->take(10);
  ChildProcess child([&](const auto& tell) {
    ledger->drop_in_child();
    ledger->give_back(10);
    const bool refused =
        refusal(ErrorCode::device, [&] { ledger->take(1); }).find("before a fork") != std::string::npos;
    ledger.reset();
    if (!refused) throw std::runtime_error("a forked child took memory");
    tell();
    pause();
  });
  ASSERT_TRUE(child.wait_for_tell());
  EXPECT_EQ(ledger->books().own_bytes, 10) << "the child changed the books";
  const std::string path = ledger->path();
  ledger.reset();
  EXPECT_FALSE(std::filesystem::exists(path)) << "the child counts as a client";
}

}  // namespace
}  // namespace tidemark
