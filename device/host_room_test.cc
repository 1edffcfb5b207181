#include "device/host_room.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <thread>

#include "base/file.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

class HostRoomTest : public testing::Test {
 protected:
  // 64 MiB of the free memory are kept for everything else.
  void set_free(int64_t mib) {
    std::filesystem::create_directories(root_ + "/proc");
    replace_file(root_ + "/proc/meminfo",
                 "MemTotal: 1048576 kB\nMemAvailable: " + std::to_string((mib + 64) * 1024) + " kB\n");
  }
  const std::string root_ = testing::TempDir() + "host_room_test";
};

TEST_F(HostRoomTest, ReadingServesForItsAgeLessWhatWasTaken) {
  set_free(200);
  HostRoom room(root_, std::chrono::hours(1));
  EXPECT_EQ(room.committable_bytes(), 200 * kMiB);
  set_free(300);
  room.note_taken(10 * kMiB);
  EXPECT_EQ(room.committable_bytes(), 190 * kMiB);
  room.note_given_back(4 * kMiB);
  EXPECT_EQ(room.committable_bytes(), 194 * kMiB);
}

TEST_F(HostRoomTest, OldReadingIsMadeAgain) {
  set_free(200);
  HostRoom room(root_, std::chrono::milliseconds(1));
  EXPECT_EQ(room.committable_bytes(), 200 * kMiB);
  set_free(300);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  EXPECT_EQ(room.committable_bytes(), 300 * kMiB);
}

TEST_F(HostRoomTest, EveryAnswerIsFreshNearTheEnd) {
  set_free(70);
  HostRoom room(root_, std::chrono::hours(1));
  EXPECT_EQ(room.committable_bytes(), 70 * kMiB);
  room.note_taken(8 * kMiB);
  set_free(20);
  EXPECT_EQ(room.committable_bytes(), 20 * kMiB);
  set_free(10);
  EXPECT_EQ(room.committable_bytes(), 10 * kMiB);
}

}  // namespace
}  // namespace tidemark
