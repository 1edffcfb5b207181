#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "device/cuda/language/language.h"

namespace tidemark::TM_CUDA_NAMESPACE {
namespace {

__global__ void WriteIndex(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] += static_cast<int>(1000 * block + thread);
}

TEST(Emulation, EveryThreadOfEveryBlockRunsOnce) {
  std::vector<int> out(6 * 24, 0);
  TM_LAUNCH(WriteIndex, dim3(3, 2), dim3(4, 3, 2), nullptr, out.data());
  ASSERT_EQ(launch_error(), nullptr);
  for (int block = 0; block < 6; ++block) {
    for (int thread = 0; thread < 24; ++thread)
      EXPECT_EQ(out[static_cast<size_t>(block * 24 + thread)], 1000 * block + thread);
  }
}

// Neighbours exchange through shared memory, with or without the barrier that this needs.
template <bool HasBarrier>
__global__ void Rotate(const float* in, float* out) {
  TM_SHARED(float, values, 64);
  values[threadIdx.x] = in[threadIdx.x];
  if (HasBarrier) __syncthreads();
  out[threadIdx.x] = values[(threadIdx.x + 1) % blockDim.x];
}

template <bool HasBarrier>
int wrong_rotations() {
  std::vector<float> in(64), out(64);
  for (size_t i = 0; i < 64; ++i) in[i] = static_cast<float>(i);
  int wrong = 0;
  for (int launch = 0; launch < 3; ++launch) {
    TM_LAUNCH(Rotate<HasBarrier>, 1, 64, nullptr, in.data(), out.data());
    EXPECT_EQ(launch_error(), nullptr);
    for (size_t i = 0; i < 64; ++i) wrong += out[i] != in[(i + 1) % 64];
  }
  return wrong;
}

TEST(Emulation, BarriersOrderSharedMemory) { EXPECT_EQ(wrong_rotations<true>(), 0); }
TEST(Emulation, MissingBarrierGivesWrongValues) { EXPECT_GT(wrong_rotations<false>(), 0); }

__global__ void ReadUnwritten(float* out) {
  TM_SHARED(float, values, 4);
  out[blockIdx.x] = values[0];
  __syncthreads();
  values[0] = 1.0f;
}

TEST(Emulation, SharedMemoryBeginsAsNaNInEveryBlock) {
  std::vector<float> out(2, 0.0f);
  TM_LAUNCH(ReadUnwritten, 2, 1, nullptr, out.data());
  EXPECT_TRUE(std::isnan(out[0]) && std::isnan(out[1]));
}

__global__ void WarpSums(const int* in, int* xor_sum, int* down) {
  int sum = in[threadIdx.x];
  for (int mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, mask);
  xor_sum[threadIdx.x] = sum;
  down[threadIdx.x] = __shfl_down_sync(0xFFFFFFFFu, in[threadIdx.x], 3);
}

TEST(Emulation, ShufflesStayInsideTheWarp) {
  std::vector<int> in(64), sums(64), down(64);
  for (int i = 0; i < 64; ++i) in[static_cast<size_t>(i)] = i;
  for (int launch = 0; launch < 3; ++launch) {
    TM_LAUNCH(WarpSums, 1, 64, nullptr, in.data(), sums.data(), down.data());
    ASSERT_EQ(launch_error(), nullptr);
    EXPECT_EQ(std::set<int>(sums.begin(), sums.begin() + 32), std::set<int>{31 * 32 / 2});
    EXPECT_EQ(std::set<int>(sums.begin() + 32, sums.end()), std::set<int>{31 * 32 / 2 + 32 * 32});
    EXPECT_EQ(down[28], 31);
    EXPECT_EQ(down[29], 29);
    EXPECT_EQ(down[32], 35);
  }
}

__global__ void HalfOfThemWait() {
  if (threadIdx.x < 16) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST(Emulation, BarrierThatSomeDoNotReachIsAnError) {
  TM_LAUNCH(HalfOfThemWait, 1, 32, nullptr);
  const char* error = launch_error();
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("block 0 is stuck"), std::string::npos);
  EXPECT_EQ(launch_error(), nullptr) << "an error is reported once";
}

__global__ void TooMuch() {
  TM_SHARED(float, values, 13000);
  values[0] = 0;
}

TEST(Emulation, LimitsAreThoseOfADevice) {
  TM_LAUNCH(TooMuch, 1, 1, nullptr);
  EXPECT_NE(launch_error(), nullptr);
  std::vector<int> out(2000);
  TM_LAUNCH(WriteIndex, 1, 1025, nullptr, out.data());
  EXPECT_NE(launch_error(), nullptr);
}

__global__ void Count(int* count) { atomicAdd(count, 2); }

TEST(Emulation, AtomicsAddUp) {
  int count = 0;
  TM_LAUNCH(Count, 3, 40, nullptr, &count);
  EXPECT_EQ(count, 240);
}

}  // namespace
}  // namespace tidemark::TM_CUDA_NAMESPACE
