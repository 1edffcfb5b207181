// Several processes on one simulated device.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "base/error.h"
#include "device/sim/child_process.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kPage = HostPages::kGranularityBytes;

// Milliseconds until `holds`, or 1000.
template <class Condition>
int64_t wait_ms(Condition holds) {
  const auto start = std::chrono::steady_clock::now();
  const auto passed = [&] {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - start).count();
  };
  while (!holds() && passed() < 1000) ::usleep(500);
  return passed();
}

TEST(SimProcesses, KilledProcessGivesItsPagesBack) {
  const std::string name = sim_test_name("pages");
  SimMemory memory(name, 64 * kMiB);
  ChildProcess child([&](const auto& tell) {
    SimMemory theirs(name, 64 * kMiB);
    VirtualRange range = theirs.reserve(20 * kMiB);
    range.commit(0, 20 * kMiB);
    std::vector<PageId> pages(10);
    theirs.create_pages(pages);
    tell();
    ::pause();
  });
  ASSERT_TRUE(child.wait_for_tell());
  EXPECT_EQ(memory.foreign_bytes(), 40 * kMiB);
  VirtualRange range = memory.reserve(64 * kMiB);
  EXPECT_THROW(range.commit(0, 26 * kMiB), Error);
  child.kill();
  EXPECT_LE(wait_ms([&] { return memory.foreign_bytes() == 0; }), 100);
  range.commit(0, 64 * kMiB);
  EXPECT_EQ(memory.free_bytes(), 0);
}

TEST(SimProcesses, ChildThatEndsWithoutGivingBackLeavesNothing) {
  const std::string name = sim_test_name("exit");
  SimMemory memory(name, 16 * kMiB);
  ChildProcess child([&](const auto&) {
    auto* theirs = new SimMemory(name, 16 * kMiB);
    std::vector<PageId> pages(8);
    theirs->create_pages(pages);
  });
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_EQ(memory.free_bytes(), 16 * kMiB);
}

TEST(SimProcesses, ForkedChildHasNoneOfTheMemory) {
  SimMemory memory(sim_test_name("fork"), 16 * kMiB);
  VirtualRange range = memory.reserve(8 * kMiB);
  range.commit(0, 4 * kMiB);
  range.data()[0] = std::byte{42};
  ChildProcess child([&](const auto&) {
    std::vector<PageId> pages(1);
    try {
      memory.create_pages(pages);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::device) range = VirtualRange();
      return;
    }
    throw Error(ErrorCode::device, "a forked child took memory");
  });
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_EQ(memory.own_bytes(), 4 * kMiB);
  EXPECT_EQ(memory.measured_bytes(), 4 * kMiB);
  EXPECT_EQ(range.data()[0], std::byte{42});
}

// The child's own child lives on for a moment, but keeps nothing.
TEST(SimProcesses, ChildOfAKilledProcessDoesNotHoldItsBytes) {
  const std::string name = sim_test_name("orphan");
  SimMemory memory(name, 16 * kMiB);
  ChildProcess child([&](const auto& tell) {
    SimMemory theirs(name, 16 * kMiB);
    std::vector<PageId> pages(4);
    theirs.create_pages(pages);
    if (::fork() == 0) {
      ::sleep(2);
      ::_exit(0);
    }
    tell();
    ::pause();
  });
  ASSERT_TRUE(child.wait_for_tell());
  EXPECT_EQ(memory.foreign_bytes(), 8 * kMiB);
  child.kill();
  EXPECT_LE(wait_ms([&] { return memory.foreign_bytes() == 0; }), 100);
}

// What all processes hold at least: counted by themselves, after they got pages and before they give them back.
struct Witness {
  std::atomic<int64_t> held_bytes{0};
  std::atomic<int64_t> highest_bytes{0};
  std::atomic<int64_t> refusals{0};
  std::atomic<int64_t> wrong_books{0};

  void got(int64_t bytes) {
    const int64_t now = held_bytes += bytes;
    int64_t seen = highest_bytes;
    while (seen < now && !highest_bytes.compare_exchange_weak(seen, now)) {
    }
  }
};

void take_and_give_at_random(SimMemory& memory, Witness& witness, uint64_t seed, int rounds) {
  std::mt19937_64 random(seed);
  std::vector<PageId> held;
  for (int round = 0; round < rounds; ++round) {
    const size_t count = 1 + random() % 6;
    if (random() % 2 == 0 || held.size() < count) {
      std::vector<PageId> more(count);
      try {
        memory.create_pages(more);
        witness.got(static_cast<int64_t>(count) * kPage);
        held.insert(held.end(), more.begin(), more.end());
      } catch (const Error& e) {
        if (e.code() != ErrorCode::out_of_memory) throw;
        ++witness.refusals;
      }
    } else {
      const std::vector<PageId> back(held.end() - static_cast<int64_t>(count), held.end());
      held.resize(held.size() - count);
      witness.held_bytes -= static_cast<int64_t>(count) * kPage;
      memory.destroy_pages(back);
    }
    const DeviceUse use = memory.use();
    if (use.own_bytes != static_cast<int64_t>(held.size()) * kPage || use.free_bytes < 0) ++witness.wrong_books;
  }
  witness.held_bytes -= static_cast<int64_t>(held.size()) * kPage;
}

TEST(SimProcesses, TogetherTheyNeverTakeMoreThanTheDeviceHas) {
  constexpr int64_t kTotal = 24 * kMiB;
  const std::string name = sim_test_name("stress");
  SimMemory memory(name, kTotal, {.poison = false});
  void* shared = ::mmap(nullptr, sizeof(Witness), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  Witness& witness = *new (shared) Witness;
  std::vector<std::unique_ptr<ChildProcess>> children;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    children.push_back(std::make_unique<ChildProcess>([&, seed](const auto&) {
      SimMemory theirs(name, kTotal, {.poison = false});
      take_and_give_at_random(theirs, witness, seed, 150);
    }));
  }
  take_and_give_at_random(memory, witness, 99, 150);
  for (const auto& child : children) EXPECT_EQ(child->wait_for_end(), 0);
  EXPECT_LE(witness.highest_bytes, kTotal);
  EXPECT_GT(witness.highest_bytes, kTotal / 2) << "the device was hardly used";
  EXPECT_GT(witness.refusals, 0);
  EXPECT_EQ(witness.wrong_books, 0);
  EXPECT_EQ(memory.foreign_bytes(), 0);
  ::munmap(shared, sizeof(Witness));
}

// Killed wherever it is: in the kernel, with the books locked, between the two.
TEST(SimProcesses, KillAtAnyMomentLeavesRightBooks) {
  constexpr int64_t kTotal = 16 * kMiB;
  const std::string name = sim_test_name("moment");
  SimMemory memory(name, kTotal, {.poison = false});
  VirtualRange range = memory.reserve(kTotal);
  std::mt19937_64 random(7);
  for (int round = 0; round < 30; ++round) {
    ChildProcess child([&](const auto& tell) {
      SimMemory theirs(name, kTotal, {.poison = false});
      tell();
      std::vector<PageId> pages(1);
      while (true) {
        theirs.create_pages(pages);
        theirs.destroy_pages(pages);
      }
    });
    ASSERT_TRUE(child.wait_for_tell());
    ::usleep(static_cast<useconds_t>(random() % 3000));
    child.kill();
    EXPECT_LE(wait_ms([&] { return memory.foreign_bytes() == 0; }), 100) << "round " << round;
    range.commit(0, kTotal);
    EXPECT_EQ(memory.free_bytes(), 0);
    range.decommit(0, kTotal);
  }
}

}  // namespace
}  // namespace tidemark
