// A program of somebody else: plans offsets, allocates, prints figures. Built with plain g++ and pkg-config by
// package_test.sh.
#include <cstdio>
#include <cstring>
#include <memory>

#include "device/device.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/arena/offset_planner.h"

int main() {
  using namespace tidemark;
  memory::Trace trace;
  for (int i = 0; i < 4; ++i) {
    memory::Buffer buffer;
    buffer.id = i;
    buffer.bytes = 1000 * (i + 1);
    buffer.intervals = {{i, i + 2}};
    trace.buffers.push_back(buffer);
  }
  const memory::OffsetPlan plan = memory::make_offset_planner("portfolio")->minimize(trace, {});
  std::printf("planned %lld lower bound %lld\n", static_cast<long long>(plan.peak_bytes),
              static_cast<long long>(plan.lower_bound_bytes));

  const std::unique_ptr<DeviceMemory> device = make_device_memory(choose_device("cpu"));
  device->set_limit_bytes(int64_t{64} << 20);
  memory::PagePool pool(*device);
  memory::CachingAllocator allocator(pool);
  {
    const memory::Block block(allocator, {.bytes = 5'000'000, .category = Category::weights});
    std::memset(block.data(), 1, 5'000'000);
    const memory::AllocatorStats stats = allocator.stats();
    std::printf("requested %lld reserved %lld\n", static_cast<long long>(stats.requested_bytes),
                static_cast<long long>(stats.reserved_bytes));
  }
  std::printf("given back %lld\n", static_cast<long long>(allocator.trim(0)));
  return 0;
}
