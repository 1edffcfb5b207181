// A program with CUDA code in it must start and report where there is no driver, and compute where there is a GPU.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "bazel/cuda/sample_kernel.h"

namespace tidemark {
namespace {

std::string ReadMaps() {
  std::ifstream maps("/proc/self/maps");
  return {std::istreambuf_iterator<char>(maps), std::istreambuf_iterator<char>()};
}

// Before any call of the runtime, which loads the driver by itself where there is one.
const std::string kMapsAtStart = ReadMaps();

TEST(CudaLibrary, CountsDevicesOrReportsAnError) {
  int count = -1;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) {
    EXPECT_GT(count, 0);
  } else {
    EXPECT_STRNE(cudaGetErrorString(error), "no error");
  }
}

TEST(CudaLibrary, DriverLibraryIsNotLinked) {
  EXPECT_NE(kMapsAtStart.find("libcudart"), std::string::npos);
  EXPECT_EQ(kMapsAtStart.find("libcuda.so"), std::string::npos);
}

TEST(CudaLibrary, KernelRunsWhereThereIsADevice) {
  float* device = nullptr;
  if (cudaMalloc(reinterpret_cast<void**>(&device), 2 * 1000 * sizeof(float)) != cudaSuccess)
    GTEST_SKIP() << "no CUDA device";
  const std::vector<float> twos(2000, 2.0f);
  std::vector<float> y(1000);
  ASSERT_EQ(cudaMemcpy(device, twos.data(), 8000, cudaMemcpyHostToDevice), cudaSuccess);
  ASSERT_EQ(SampleAxpy(1000, 3.0f, device, device + 1000, nullptr), cudaSuccess);
  ASSERT_EQ(cudaMemcpy(y.data(), device + 1000, 4000, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(y, std::vector<float>(1000, 8.0f));
  EXPECT_EQ(cudaFree(device), cudaSuccess);
}

}  // namespace
}  // namespace tidemark
