// CudaMemory against a driver of the test's own: no GPU needed.
#include "device/cuda/cuda_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "device/cuda/fake_cuda_driver.h"
#include "device/device_memory_conformance.h"

namespace tidemark {
namespace {

constexpr int64_t kGranule = FakeCudaDriver::kGranularityBytes;

// A memory that owns its driver, which must be made before it and outlive it: hence the order of the bases.
struct OwnedFake {
  FakeCudaDriver fake{64 * kGranule};
};
struct CudaMemoryOnFake : private OwnedFake, public CudaMemory {
  CudaMemoryOnFake() : CudaMemory(fake.table(), 0) {}
};

INSTANTIATE_TEST_SUITE_P(CudaOnFake, DeviceMemoryConformance,
                         testing::Values(DeviceMemoryMaker([] { return std::make_unique<CudaMemoryOnFake>(); })));

class CudaMemoryTest : public testing::Test {
 protected:
  FakeCudaDriver fake_{8 * kGranule};
  CudaMemory memory_{fake_.table(), 0};
};

using Calls = std::vector<std::string>;

TEST_F(CudaMemoryTest, SizesComeFromTheDriver) {
  EXPECT_EQ(memory_.name(), "cuda:0");
  EXPECT_EQ(memory_.kind(), DeviceKind::cuda);
  EXPECT_EQ(memory_.capacity_bytes(), 8 * kGranule);
  EXPECT_EQ(memory_.granularity_bytes(), kGranule);
  VirtualRange range = memory_.reserve(3 * kGranule - 5);
  EXPECT_EQ(range.bytes(), 3 * kGranule);
  range.commit(0, kGranule);
  EXPECT_EQ(memory_.free_bytes(), 7 * kGranule);
}

TEST_F(CudaMemoryTest, CommitCreatesMapsReleasesThenGivesAccess) {
  VirtualRange range = memory_.reserve(2 * kGranule);
  fake_.clear_calls();
  range.commit(0, 2 * kGranule);
  Calls memory_calls;
  for (const std::string& call : fake_.calls()) {
    if (call != "cuCtxSetCurrent" && call != "cuMemGetInfo") memory_calls.push_back(call);
  }
  EXPECT_EQ(memory_calls, (Calls{"cuMemCreate", "cuMemMap", "cuMemRelease", "cuMemCreate", "cuMemMap", "cuMemRelease",
                                 "cuMemSetAccess"}));
  fake_.clear_calls();
  range.decommit(0, 2 * kGranule);
  EXPECT_EQ(fake_.calls(), (Calls{"cuMemUnmap", "cuMemUnmap"}));
}

TEST_F(CudaMemoryTest, EndOfTheRangeUnmapsBeforeItFreesAddresses) {
  {
    VirtualRange range = memory_.reserve(2 * kGranule);
    range.commit(kGranule, kGranule);
    fake_.clear_calls();
  }
  EXPECT_EQ(fake_.calls(), (Calls{"cuMemUnmap", "cuMemAddressFree"}));
  EXPECT_EQ(fake_.reserved_ranges(), 0u);
}

// Granule 1 is there already, so the commit is made in two runs: a refusal in the second gives back the first.
TEST_F(CudaMemoryTest, RefusalOfAnyCallLeavesTheMappingsAsTheyWere) {
  VirtualRange range = memory_.reserve(4 * kGranule);
  range.commit(kGranule, kGranule);
  int refusals = 0;
  for (int k = 0;; ++k) {
    ASSERT_LT(k, 100) << "commit never succeeds again";
    fake_.refuse_call(k);
    try {
      range.commit(0, 4 * kGranule);
      break;  // k is beyond the last call
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::out_of_memory) << e.what();
      EXPECT_NE(std::string(e.what()).find("error 2 (out of memory)"), std::string::npos) << e.what();
    }
    ++refusals;
    EXPECT_TRUE(fake_.refused());
    EXPECT_EQ(fake_.mapped_bytes(), kGranule) << "after the refusal of call " << k;
    EXPECT_EQ(memory_.committed_bytes(), kGranule);
  }
  EXPECT_GE(refusals, 11);  // three calls for each new granule, one a run for access
  EXPECT_EQ(fake_.mapped_bytes(), 4 * kGranule);
}

TEST_F(CudaMemoryTest, RefusalOfTheFirstCallsKeepsNoHandle) {
  VirtualRange range = memory_.reserve(4 * kGranule);
  fake_.clear_calls();
  range.commit(0, kGranule);
  const auto first_create =
      std::find(fake_.calls().begin(), fake_.calls().end(), "cuMemCreate") - fake_.calls().begin();
  range.decommit(0, kGranule);
  for (const int after : {0, 1}) {  // cuMemCreate, cuMemMap
    fake_.refuse_call(static_cast<int>(first_create) + after);
    EXPECT_THROW(range.commit(0, 2 * kGranule), Error);
    EXPECT_EQ(fake_.open_handles(), 0);
  }
}

TEST_F(CudaMemoryTest, FullDeviceIsRefusedBeforeTheDriverIsAskedForPages) {
  VirtualRange range = memory_.reserve(16 * kGranule);
  range.commit(0, 5 * kGranule);
  fake_.clear_calls();
  EXPECT_THROW(range.commit(5 * kGranule, 4 * kGranule), Error);
  EXPECT_EQ(std::count(fake_.calls().begin(), fake_.calls().end(), "cuMemCreate"), 0);
  EXPECT_EQ(fake_.mapped_bytes(), 5 * kGranule);
}

TEST_F(CudaMemoryTest, MeasuredIsAskedFromTheDriverAndKeepsNoHandle) {
  VirtualRange range = memory_.reserve(4 * kGranule);
  range.commit(kGranule, 2 * kGranule);
  EXPECT_EQ(memory_.measured_bytes(), 2 * kGranule);
  EXPECT_EQ(fake_.open_handles(), 0);
  // Pages that vanish behind our back show in what is measured, not in the book.
  fake_.table().unmap(reinterpret_cast<CUdeviceptr>(range.data() + kGranule), kGranule);
  EXPECT_EQ(memory_.measured_bytes(), kGranule);
  EXPECT_EQ(memory_.committed_bytes(), 2 * kGranule);
}

TEST(CudaMemory, ContextIsHeldAndGivenBack) {
  FakeCudaDriver fake(8 * kGranule);
  {
    const CudaMemory memory(fake.table(), 0);
    EXPECT_EQ(fake.contexts(), 1);
  }
  EXPECT_EQ(fake.contexts(), 0);
  for (int k = 0; k < 6; ++k) {  // every call of the constructor
    fake.refuse_call(k);
    EXPECT_THROW(CudaMemory(fake.table(), 0), Error) << k;
    EXPECT_EQ(fake.contexts(), 0) << k;
  }
}

TEST(CudaMemory, ForeignBytesAreNvmlsForThisDevice) {
  FakeCudaDriver fake(8 * kGranule);
  NvmlTable nvml;
  nvml.device_by_pci_bus_id = [](const char* bus_id, NvmlDevice*) {
    return std::string(bus_id) == FakeCudaDriver::kPciBusId ? 0 : 6;
  };
  nvml.compute_processes = [](NvmlDevice, unsigned* count, NvmlProcess* processes) {
    processes[0] = {static_cast<unsigned>(getpid()), 1000, 0, 0};
    processes[1] = {1, 42, 0, 0};
    *count = 2;
    return 0;
  };
  nvml.graphics_processes = [](NvmlDevice, unsigned* count, NvmlProcess*) {
    *count = 0;
    return 0;
  };
  const CudaMemory memory(fake.table(), 0, nvml);
  EXPECT_EQ(memory.foreign_bytes(), 42);
  EXPECT_EQ(memory.use().foreign_bytes, 42);
  const CudaMemory without(fake.table(), 0);
  EXPECT_EQ(without.foreign_bytes(), kUnknownBytes);
  fake.refuse_call(0);
  EXPECT_EQ(memory.foreign_bytes(), kUnknownBytes);
}

TEST(CudaMemory, UnknownDeviceNamesTheCall) {
  FakeCudaDriver fake(8 * kGranule);
  try {
    CudaMemory(fake.table(), 3);
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_STREQ(e.what(), "device 'cuda:3': cuDeviceGet: error 101 (fake error)");
  }
}

}  // namespace
}  // namespace tidemark
