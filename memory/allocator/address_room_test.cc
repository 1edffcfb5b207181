#include "memory/allocator/address_room.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "device/host_memory.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

// The process gets no more than so many addresses beyond those that it has.
void leave_addresses(int64_t bytes) {
  const std::string status = read_file("/proc/self/status");
  const size_t at = status.find("VmSize:");
  const int64_t now = std::strtoll(status.c_str() + at + std::strlen("VmSize:"), nullptr, 10) << 10;
  const rlimit limit{static_cast<rlim_t>(now + bytes), RLIM_INFINITY};
  if (setrlimit(RLIMIT_AS, &limit) != 0) std::abort();
}

void expect(bool what, const char* name) {
  if (what) return;
  std::fprintf(stderr, "not so: %s\n", name);
  std::exit(1);
}

TEST(AddressRoom, HasAllThatIsWantedWhereItIsThere) {
  HostMemory device;
  EXPECT_EQ(reserve_up_to(device, 8 * kGiB, kMiB).bytes(), 8 * kGiB);
  EXPECT_EQ(reserve_up_to(device, kMiB, 8 * kMiB).bytes(), 8 * kMiB);
}

TEST(AddressRoomDeathTest, TakesPartOfWhatTheProcessHas) {
  EXPECT_EXIT(
      {
        HostMemory device;
        leave_addresses(4 * kGiB);
        const int64_t bytes = reserve_up_to(device, 100 * kGiB, kMiB).bytes();
        expect(bytes >= kGiB / 2 && bytes <= 2 * kGiB, "about half of 4 GiB");
        try {
          reserve_up_to(device, 100 * kGiB, 6 * kGiB);
          std::exit(1);
        } catch (const Error& error) {
          expect(error.code() == ErrorCode::out_of_memory, "code");
        }
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// Case: under ulimit -v nothing could be had from the allocator, because it wants twice the device in addresses.
TEST(AddressRoomDeathTest, TheAllocatorWorksWithFewerAddressesThanTheDeviceHasBytes) {
  EXPECT_EXIT(
      {
        HostMemory device;
        if (device.capacity_bytes() < 2 * kGiB) std::exit(0);
        PagePool pool(device);
        leave_addresses(kGiB);
        CachingAllocator allocator(pool);
        std::byte* small = allocator.allocate({.bytes = 100});
        std::byte* large = allocator.allocate({.bytes = 20 * kMiB});
        std::memset(large, 1, 20 * kMiB);
        allocator.deallocate(small);
        allocator.deallocate(large);
        expect(allocator.find_fault().empty(), "sound");
        std::exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tidemark::memory
