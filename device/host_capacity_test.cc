#include "device/host_capacity.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"

namespace tidemark {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;

// A file system tree of /proc and /sys/fs/cgroup: 16 GiB of memory, 10 GiB available.
class HostCapacityTest : public testing::Test {
 protected:
  HostCapacityTest() {
    root_ = testing::TempDir() + "host_capacity_test_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(root_);
    write("/proc/meminfo", "MemTotal:       16777216 kB\nMemFree: 1 kB\nMemAvailable:   10485760 kB\n");
  }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    replace_file(root_ + path, text);
  }

  void expect(int64_t total_bytes, int64_t free_bytes) {
    const HostCapacity capacity = read_host_capacity(root_);
    EXPECT_EQ(capacity.total_bytes, total_bytes);
    EXPECT_EQ(capacity.free_bytes, free_bytes);
  }

  std::string root_;
};

TEST_F(HostCapacityTest, WithoutCgroupsTheMachineCounts) { expect(16 * kGiB, 10 * kGiB); }

TEST_F(HostCapacityTest, V2LimitOfTheGroupItself) {
  write("/proc/self/cgroup", "0::/job\n");
  write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/job/memory.max", std::to_string(4 * kGiB) + "\n");
  write("/sys/fs/cgroup/job/memory.current", std::to_string(3 * kGiB) + "\n");
  write("/sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 1073741824\nactive_file 536870912\n");
  expect(4 * kGiB, 4 * kGiB - 3 * kGiB + kGiB + kGiB / 2);
}

TEST_F(HostCapacityTest, V2LimitOfAnAncestorHoldsToo) {
  write("/proc/self/cgroup", "0::/pod/job\n");
  write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw shared:1 - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/pod/job/memory.max", "max\n");
  write("/sys/fs/cgroup/pod/memory.max", std::to_string(2 * kGiB));
  write("/sys/fs/cgroup/pod/memory.current", std::to_string(kGiB / 2));
  expect(2 * kGiB, 2 * kGiB - kGiB / 2);
}

TEST_F(HostCapacityTest, V1LimitAndNoLimit) {
  write("/proc/self/cgroup", "9:name=systemd:/\n4:memory:/a\n2:cpuacct,cpu:/\n0::/\n");
  write("/proc/self/mountinfo",
        "35 31 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", std::to_string(3 * kGiB) + "\n");
  write("/sys/fs/cgroup/memory/a/memory.usage_in_bytes", std::to_string(2 * kGiB) + "\n");
  write("/sys/fs/cgroup/memory/a/memory.stat", "inactive_file 1\ntotal_inactive_file 1073741824\n");
  expect(3 * kGiB, 2 * kGiB);
  std::filesystem::remove(root_ + "/sys/fs/cgroup/memory/a/memory.limit_in_bytes");
  expect(16 * kGiB, 10 * kGiB);
}

TEST_F(HostCapacityTest, ContainerWhoseMountIsItsOwnGroup) {
  write("/proc/self/cgroup", "4:memory:/docker/abc/inner\n");
  write("/proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  write("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", std::to_string(kGiB));
  write("/sys/fs/cgroup/memory/inner/memory.usage_in_bytes", "0");
  expect(kGiB, kGiB);
}

TEST_F(HostCapacityTest, UsageAboveTheLimitIsNothingFree) {
  write("/proc/self/cgroup", "0::/\n");
  write("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  write("/sys/fs/cgroup/memory.max", std::to_string(kGiB));
  write("/sys/fs/cgroup/memory.current", std::to_string(2 * kGiB));
  expect(kGiB, 0);
}

TEST_F(HostCapacityTest, BrokenMeminfoIsAnError) {
  write("/proc/meminfo", "MemTotal: 5 kB\n");
  EXPECT_THROW(read_host_capacity(root_), Error);
  EXPECT_THROW(read_host_capacity("/nonexistent"), Error);
}

TEST(HostCapacity, ThisMachineHasSome) {
  const HostCapacity capacity = read_host_capacity();
  EXPECT_GT(capacity.total_bytes, int64_t{64} << 20);
  EXPECT_GT(capacity.free_bytes, 0);
  EXPECT_LE(capacity.free_bytes, capacity.total_bytes);
}

}  // namespace
}  // namespace tidemark
