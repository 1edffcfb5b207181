// The caching allocator on CUDA's calls, behind which a fake driver keeps the books that a strict one would keep.
#include "device/cuda/cuda_memory.h"
#include "device/cuda/fake_cuda_driver.h"
#include "memory/allocator/allocator_conformance.h"
#include "memory/allocator/caching_allocator.h"

namespace tidemark::memory {
namespace {

class OnFakeCuda final : public AllocatorUnderTest {
 public:
  OnFakeCuda() { device_.set_limit_bytes(kDeviceBytes); }
  Allocator& allocator() override { return caching_; }
  DeviceMemory& device() override { return device_; }

 private:
  FakeCudaDriver driver_{2 * kDeviceBytes};
  CudaMemory device_{driver_.table(), 0};
  PagePool pool_{device_};
  CachingAllocator caching_{pool_};
};

INSTANTIATE_TEST_SUITE_P(OnFakeCuda, AllocatorConformance,
                         testing::Values(AllocatorMaker([] { return std::make_unique<OnFakeCuda>(); })));

constexpr int64_t kMiB = int64_t{1} << 20;

// A request that needs new pages and free ones that lie apart.
struct Scene {
  explicit Scene(PagePool& pool) : allocator(pool) {
    held = allocator.allocate({6 * kMiB});
    allocator.deallocate(allocator.allocate({8 * kMiB}));
    between = allocator.allocate({2 * kMiB});
  }
  ~Scene() {
    allocator.deallocate(held);
    allocator.deallocate(between);
  }
  std::byte* request() { return allocator.allocate({20 * kMiB}); }

  CachingAllocator allocator;
  std::byte* held;
  std::byte* between;
};

std::vector<std::string> calls_of_a_request() {
  FakeCudaDriver driver(64 * kMiB);
  CudaMemory device(driver.table(), 0);
  PagePool pool(device);
  Scene scene(pool);
  driver.clear_calls();
  scene.allocator.deallocate(scene.request());
  return driver.calls();
}

// Each call of the driver that may be refused is: what was there stays, nothing is lost, and the next request is
// served.
TEST(CachingOnCuda, EveryRefusedCallOfTheDriverLeavesTheBooksRight) {
  const std::vector<std::string> calls = calls_of_a_request();
  int refused = 0;
  for (size_t k = 0; k < calls.size(); ++k) {
    if (calls[k] != "cuMemCreate" && calls[k] != "cuMemMap" && calls[k] != "cuMemSetAccess") continue;
    SCOPED_TRACE(calls[k] + ", call " + std::to_string(k));
    FakeCudaDriver driver(64 * kMiB);
    CudaMemory device(driver.table(), 0);
    {
      PagePool pool(device);
      Scene scene(pool);
      driver.refuse_call(static_cast<int>(k));
      std::byte* late = nullptr;
      try {
        late = scene.request();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
      }
      EXPECT_TRUE(driver.refused());
      ++refused;
      EXPECT_EQ(scene.allocator.find_fault(), "");
      EXPECT_EQ(find_fault(scene.allocator.stats(), device.granularity_bytes()), "");
      EXPECT_EQ(scene.allocator.stats().reserved_bytes + pool.cached_bytes(), device.committed_bytes());
      if (late) scene.allocator.deallocate(late);
      scene.allocator.deallocate(scene.request());
    }
    EXPECT_EQ(device.committed_bytes(), 0);
    EXPECT_EQ(driver.mapped_bytes(), 0);
    EXPECT_EQ(driver.open_handles(), 0);
  }
  EXPECT_GT(refused, 10);
}

}  // namespace
}  // namespace tidemark::memory
