#include "device/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>

#include "base/file.h"
#include "device/device_memory_conformance.h"

namespace tidemark {
namespace {

INSTANTIATE_TEST_SUITE_P(Host, DeviceMemoryConformance,
                         testing::Values(DeviceMemoryMaker([] { return std::make_unique<HostMemory>(); }),
                                         DeviceMemoryMaker([] {
                                           return std::make_unique<HostMemory>("", PageFileKind::memfd);
                                         })));

constexpr int64_t kMiB = int64_t{1} << 20;

// A root directory whose /proc/meminfo says what a test wants.
std::string fake_system(const std::string& name, int64_t total_mib, int64_t available_mib) {
  const std::string root = testing::TempDir() + "host_memory_test_" + name;
  std::filesystem::create_directories(root + "/proc");
  replace_file(root + "/proc/meminfo", "MemTotal: " + std::to_string(total_mib * 1024) +
                                           " kB\nMemAvailable: " + std::to_string(available_mib * 1024) + " kB\n");
  return root;
}

TEST(HostMemory, MachineWithoutRoomRefusesBeforeTheKernelIsAsked) {
  HostMemory memory(fake_system("full", 1024, 70));
  EXPECT_EQ(memory.capacity_bytes(), 1024 * kMiB);
  EXPECT_EQ(memory.free_bytes(), 70 * kMiB);
  VirtualRange range = memory.reserve(64 * kMiB);
  range.commit(0, 6 * kMiB);  // 64 MiB are kept for everything else
  const int64_t calls = memory.alloc_calls();
  try {
    range.commit(6 * kMiB, 8 * kMiB);
    FAIL() << "committed what is not free";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_STREQ(
        e.what(),
        "device 'cpu' is asked for 8.0 MiB more with 6.0 MiB committed, 6.0 MiB of 1.0 GiB can be had; stop other "
        "programs or lower memory.budget");
  }
  EXPECT_EQ(memory.alloc_calls(), calls);
  EXPECT_EQ(memory.measured_bytes(), 6 * kMiB);
}

TEST(HostMemory, LargeCommitsAreMadeInSteps) {
  HostMemory memory;
  VirtualRange range = memory.reserve(130 * kMiB);
  range.commit(0, 130 * kMiB);
  EXPECT_EQ(memory.alloc_calls(), 1 + 3);
  EXPECT_EQ(memory.measured_bytes(), 130 * kMiB);
}

TEST(HostMemory, NewPagesReadAsZeros) {
  HostMemory memory;
  VirtualRange range = memory.reserve(2 * kMiB);
  range.commit(0, 2 * kMiB);
  range.data()[123] = std::byte{1};
  range.decommit(0, 2 * kMiB);
  range.commit(0, 2 * kMiB);
  EXPECT_EQ(range.data()[123], std::byte{0});
}

TEST(HostMemory, AddressSpaceThatIsNotThereIsAnError) {
  HostMemory memory;
  try {
    memory.reserve(int64_t{1} << 50);
    FAIL() << "reserved a pebibyte";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::out_of_memory);
    EXPECT_NE(std::string(e.what()).find("no address range of 1024.0 TiB: Cannot allocate memory"), std::string::npos)
        << e.what();
  }
}

// Else the kernel could merge a neighbour's mapping with the range, and its pages would be measured as ours or not at
// all.
TEST(HostMemory, NoOtherMappingCanLieNextToARange) {
  HostMemory memory;
  const VirtualRange range = memory.reserve(4 * kMiB);
  const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  for (std::byte* neighbour : {range.data() - page_bytes, range.data() + range.bytes()}) {
    EXPECT_EQ(mmap(neighbour, static_cast<size_t>(page_bytes), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
              MAP_FAILED);
  }
}

TEST(HostMemoryDeathTest, TouchOfAddressesWithoutPagesIsAFault) {
  HostMemory memory;
  VirtualRange range = memory.reserve(4 * kMiB);
  range.commit(0, 2 * kMiB);
  volatile std::byte* data = range.data();
  EXPECT_DEATH(data[2 * kMiB] = std::byte{1}, "");
  range.decommit(0, 2 * kMiB);
  EXPECT_DEATH(data[0] = std::byte{1}, "");
  EXPECT_DEATH(data[-1] = std::byte{1}, "");
}

}  // namespace
}  // namespace tidemark
