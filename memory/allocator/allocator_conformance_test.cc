// The conformance suite over the caching allocator on host memory and on a simulated device, and over every decorator.
#include "memory/allocator/allocator_conformance.h"

#include "device/host_memory.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/decorators/failure_injection.h"
#include "memory/allocator/decorators/limit.h"
#include "memory/allocator/decorators/retry.h"
#include "memory/allocator/decorators/statistics.h"
#include "memory/allocator/decorators/tracking.h"
#include "memory/budget/idle_release_allocator.h"
#include "memory/call_trace/recording_allocator.h"

namespace tidemark::memory {
namespace {

class Caching : public AllocatorUnderTest {
 public:
  explicit Caching(std::unique_ptr<DeviceMemory> device = std::make_unique<HostMemory>()) : device_(std::move(device)) {
    device_->set_limit_bytes(kDeviceBytes);
  }
  Allocator& allocator() override { return caching_; }
  DeviceMemory& device() override { return *device_; }

 private:
  std::unique_ptr<DeviceMemory> device_;
  PagePool pool_{*device_};
  CachingAllocator caching_{pool_};
};

class OnSim final : public Caching {
 public:
  OnSim() : Caching(std::make_unique<SimMemory>(sim_test_name("allocator"), kDeviceBytes)) {}
};

template <class Decorator>
class Decorated final : public Caching {
 public:
  template <class... Options>
  explicit Decorated(Options... options) : decorator_(Caching::allocator(), options...) {}
  Allocator& allocator() override { return decorator_; }

 private:
  Decorator decorator_;
};

template <class UnderTest, class... Options>
AllocatorMaker maker(Options... options) {
  return [=] { return std::make_unique<UnderTest>(options...); };
}

INSTANTIATE_TEST_SUITE_P(Caching, AllocatorConformance, testing::Values(maker<Caching>()));
INSTANTIATE_TEST_SUITE_P(OnSim, AllocatorConformance, testing::Values(maker<OnSim>()));
INSTANTIATE_TEST_SUITE_P(Failure, AllocatorConformance, testing::Values(maker<Decorated<FailureInjection>>()));
INSTANTIATE_TEST_SUITE_P(Limit, AllocatorConformance,
                         testing::Values(maker<Decorated<LimitingAllocator>>("test", int64_t{1} << 30)));
INSTANTIATE_TEST_SUITE_P(Statistics, AllocatorConformance, testing::Values(maker<Decorated<StatisticsAllocator>>()));
INSTANTIATE_TEST_SUITE_P(Tracking, AllocatorConformance, testing::Values(maker<Decorated<TrackingAllocator>>()));
INSTANTIATE_TEST_SUITE_P(Retry, AllocatorConformance, testing::Values(maker<Decorated<RetryingAllocator>>()));
INSTANTIATE_TEST_SUITE_P(Recording, AllocatorConformance, testing::Values(maker<Decorated<RecordingAllocator>>("run")));
INSTANTIATE_TEST_SUITE_P(IdleRelease, AllocatorConformance,
                         testing::Values(maker<Decorated<IdleReleaseAllocator>>(std::chrono::hours(1))));

}  // namespace
}  // namespace tidemark::memory
