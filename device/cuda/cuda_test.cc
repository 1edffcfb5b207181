#include "device/cuda/cuda.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark {
namespace {

// Whatever the machine has: a device whose memory works, or a reason why there is none.
TEST(Cuda, DeviceWorksOrItsAbsenceHasAReason) {
  const CudaDevices devices = find_cuda_devices();
  if (devices.count == 0) {
    EXPECT_TRUE(devices.why_none == "built without CUDA" || devices.why_none == "the driver is absent or too old" ||
                devices.why_none == "the driver knows no device" ||
                (devices.why_none.starts_with("cudaGetDeviceCount: error ") &&
                 devices.why_none.find("error 35 ") == std::string::npos))
        << devices.why_none;
    try {
      make_cuda_memory(0);
      FAIL() << "memory of a device that is not there";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::device);
    }
    GTEST_SKIP() << "no CUDA device: " << devices.why_none;
  }
  const std::unique_ptr<DeviceMemory> memory = make_cuda_memory(0);
  VirtualRange range = memory->reserve(2 * memory->granularity_bytes());
  range.commit(0, memory->granularity_bytes());
  EXPECT_EQ(memory->measured_bytes(), memory->granularity_bytes());
}

}  // namespace
}  // namespace tidemark
