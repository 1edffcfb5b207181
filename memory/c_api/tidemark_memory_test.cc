#include "memory/c_api/tidemark_memory.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

// Numbers are used once each: a device cannot be changed after its first use.
TEST(CApi, AllocatesAndGivesBack) {
  ASSERT_EQ(tidemark_use_device(1, "cpu"), 0) << tidemark_last_error();
  void* block = tidemark_alloc(1'000'000, 1, nullptr);
  ASSERT_NE(block, nullptr) << tidemark_last_error();
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 256, 0u);
  std::memset(block, 7, 1'000'000);
  tidemark_memory_stats stats;
  ASSERT_EQ(tidemark_get_stats(1, &stats), 0);
  EXPECT_EQ(stats.requested, 1'000'000);
  EXPECT_EQ(stats.allocated, 1'000'192);
  EXPECT_EQ(stats.reserved, stats.allocated + stats.cached + stats.pending + stats.slack);
  tidemark_free(block, 1'000'000, 1, nullptr);
  ASSERT_EQ(tidemark_get_stats(1, &stats), 0);
  EXPECT_EQ(stats.allocated, 0);
  EXPECT_EQ(stats.cached, stats.reserved);
  EXPECT_EQ(tidemark_empty_cache(1), stats.reserved);
  ASSERT_EQ(tidemark_get_stats(1, &stats), 0);
  EXPECT_EQ(stats.reserved, 0);
}

TEST(CApi, NothingIsAskedForAndNothingGiven) {
  ASSERT_EQ(tidemark_use_device(2, "cpu"), 0);
  EXPECT_EQ(tidemark_alloc(0, 2, nullptr), nullptr);
  EXPECT_STREQ(tidemark_last_error(), "");
  tidemark_free(nullptr, 0, 2, nullptr);
  EXPECT_EQ(tidemark_alloc(-1, 2, nullptr), nullptr);
  EXPECT_NE(std::string(tidemark_last_error()).find("-1"), std::string::npos);
}

TEST(CApi, ALimitIsKeptAndSaidWhy) {
  ASSERT_EQ(tidemark_use_device(3, "cpu"), 0);
  ASSERT_EQ(tidemark_set_limit(3, 8 << 20), 0);
  EXPECT_EQ(tidemark_alloc(ptrdiff_t{9} << 20, 3, nullptr), nullptr);
  EXPECT_NE(std::string(tidemark_last_error()).find("9.0 MiB"), std::string::npos) << tidemark_last_error();
  void* block = tidemark_alloc(ptrdiff_t{8} << 20, 3, nullptr);
  EXPECT_NE(block, nullptr) << tidemark_last_error();
  tidemark_memory_stats stats;
  ASSERT_EQ(tidemark_get_stats(3, &stats), 0);
  EXPECT_EQ(stats.out_of_memory, 1);
  tidemark_free(block, 8 << 20, 3, nullptr);
}

TEST(CApi, SettingsAreChecked) {
  EXPECT_EQ(tidemark_use_device(4, "warp:9"), -1);
  EXPECT_NE(std::string(tidemark_last_error()).find("warp:9"), std::string::npos);
  EXPECT_EQ(tidemark_use_device(4, nullptr), -1);
  ASSERT_EQ(tidemark_use_device(4, "cpu"), 0);
  EXPECT_NE(tidemark_alloc(1, 4, nullptr), nullptr);
  EXPECT_EQ(tidemark_use_device(4, "cpu"), -1) << "in use";
}

TEST(CApi, TheEnvironmentNamesDeviceZero) {
  ::setenv("TIDEMARK_DEVICE", "cpu", 1);
  void* block = tidemark_alloc(100, 0, nullptr);
  EXPECT_NE(block, nullptr) << tidemark_last_error();
  tidemark_free(block, 100, 0, nullptr);
}

TEST(CApi, ADeviceThatIsNotThereIsAnErrorEveryTime) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(tidemark_alloc(100, 77, nullptr), nullptr);
    EXPECT_NE(std::string(tidemark_last_error()).find("cuda:77"), std::string::npos) << tidemark_last_error();
  }
  tidemark_memory_stats stats = {.requested = 42};
  EXPECT_EQ(tidemark_get_stats(77, &stats), -1);
  EXPECT_EQ(stats.requested, 42);
  EXPECT_EQ(tidemark_empty_cache(77), -1);
}

TEST(CApi, WhatNobodyCanMeanIsAnError) {
  EXPECT_EQ(tidemark_use_device(-1, "cpu"), -1);
  EXPECT_NE(std::string(tidemark_last_error()).find("-1"), std::string::npos) << tidemark_last_error();
  ASSERT_EQ(tidemark_use_device(6, "cpu"), 0);
  EXPECT_EQ(tidemark_alloc(PTRDIFF_MAX, 6, nullptr), nullptr);
  EXPECT_NE(std::string(tidemark_last_error()).find("cannot give"), std::string::npos) << tidemark_last_error();
  EXPECT_EQ(tidemark_get_stats(6, nullptr), -1);
  EXPECT_NE(std::string(tidemark_last_error()).find("NULL"), std::string::npos) << tidemark_last_error();
}

// Whatever a refused request gathered on its way must be in the figures and go back with the cache.
TEST(CApi, ARefusalLosesNoMemory) {
  constexpr int64_t kMiB = int64_t{1} << 20;
  ASSERT_EQ(tidemark_use_device(7, "cpu"), 0);
  ASSERT_EQ(tidemark_set_limit(7, 64 * kMiB), 0);
  void* freed = tidemark_alloc(40 * kMiB, 7, nullptr);
  void* kept = tidemark_alloc(20 * kMiB, 7, nullptr);
  tidemark_free(freed, 0, 7, nullptr);
  EXPECT_EQ(tidemark_alloc(50 * kMiB, 7, nullptr), nullptr);
  EXPECT_NE(std::string(tidemark_last_error()).find("6.0 MiB are missing"), std::string::npos) << tidemark_last_error();
  tidemark_memory_stats stats;
  ASSERT_EQ(tidemark_get_stats(7, &stats), 0);
  EXPECT_EQ(stats.reserved + stats.device_free, 64 * kMiB);
  EXPECT_EQ(stats.cached + stats.device_free, 44 * kMiB);
  EXPECT_EQ(tidemark_empty_cache(7), stats.cached);
  ASSERT_EQ(tidemark_get_stats(7, &stats), 0);
  EXPECT_EQ(stats.device_free, 44 * kMiB);
  tidemark_free(kept, 0, 7, nullptr);
}

TEST(CApi, AStreamThatIsUnknownIsForgottenAlready) {
  ASSERT_EQ(tidemark_use_device(8, "cpu"), 0);
  int stream = 0;
  void* block = tidemark_alloc(1000, 8, &stream);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(tidemark_forget_stream(8, &stream), 0);
  tidemark_free(block, 1000, 8, nullptr);
  EXPECT_EQ(tidemark_forget_stream(77, &stream), -1) << "no such device";
  EXPECT_NE(std::string(tidemark_last_error()).find("cuda:77"), std::string::npos);
}

TEST(CApi, ThreadsHaveTheirOwnErrors) {
  ASSERT_EQ(tidemark_use_device(5, "cpu"), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int i = 0; i < 200; ++i) {
        void* block = tidemark_alloc(1000 * (t + 1), 5, nullptr);
        ASSERT_NE(block, nullptr);
        std::memset(block, t, 1000);
        EXPECT_EQ(tidemark_alloc(-1 - t, 5, nullptr), nullptr);
        EXPECT_NE(std::string(tidemark_last_error()).find(std::to_string(-1 - t)), std::string::npos);
        EXPECT_EQ(static_cast<unsigned char*>(block)[999], t);
        tidemark_free(block, 0, 5, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  tidemark_memory_stats stats;
  ASSERT_EQ(tidemark_get_stats(5, &stats), 0);
  EXPECT_EQ(stats.allocated, 0);
}

}  // namespace
