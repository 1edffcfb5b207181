#include "memory/budget/budget.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "device/host_memory.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

// A machine with 8 GiB of memory, of which 2 GiB are available (128 MiB of them kept for the system).
class BudgetTest : public testing::Test {
 protected:
  static std::string make_root() {
    const std::string root = testing::TempDir() + "budget_test";
    std::filesystem::create_directories(root + "/proc");
    replace_file(root + "/proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 2097152 kB\n");
    return root;
  }

  template <class Body>
  static std::string refusal(ErrorCode code, Body body) {
    try {
      body();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), code);
      return e.what();
    }
    return "accepted";
  }

  HostMemory device_{make_root()};
};

TEST_F(BudgetTest, LimitComesFromBytesShareOrTheWholeDevice) {
  EXPECT_EQ(Budget(parse_byte_limit("1GiB"), device_).limit_bytes(), 1024 * kMiB);
  EXPECT_EQ(Budget(parse_byte_limit("25%"), device_).limit_bytes(), 2048 * kMiB);
  EXPECT_EQ(Budget(parse_byte_limit("1TiB"), device_).limit_bytes(), 8192 * kMiB);
  EXPECT_EQ(Budget(std::nullopt, device_).limit_bytes(), 8192 * kMiB);
}

TEST_F(BudgetTest, LimitHoldsForTheDevice) {
  const Budget budget(parse_byte_limit("4MiB"), device_);
  VirtualRange range = device_.reserve(8 * kMiB);
  range.commit(0, 4 * kMiB);
  EXPECT_THROW(range.commit(4 * kMiB, 2 * kMiB), Error);
  EXPECT_EQ(device_.measured_bytes(), budget.limit_bytes());
}

TEST_F(BudgetTest, WhatFitsPasses) {
  const Budget budget(parse_byte_limit("1GiB"), device_);
  budget.check({.name = "gpt", .bytes = 1024 * kMiB});
}

TEST_F(BudgetTest, RefusalSaysNeedLimitTensorAndRemedy) {
  const Budget budget(parse_byte_limit("1GiB"), device_);
  EXPECT_EQ(refusal(ErrorCode::out_of_memory,
                    [&] {
                      budget.check({.name = "gpt_tiny",
                                    .bytes = 1600 * kMiB,
                                    .largest_tensor = "layer7/attention/scores",
                                    .largest_tensor_bytes = 256 * kMiB});
                    }),
            "arena for 'gpt_tiny' needs 1.6 GiB, budget is 1.0 GiB; peak at layer7/attention/scores (256.0 MiB); lower "
            "memory.micro_batch or raise memory.budget");
}

TEST_F(BudgetTest, OneByteTooManyShowsInTheNumbers) {
  const Budget budget(parse_byte_limit("1GiB"), device_);
  EXPECT_EQ(
      refusal(ErrorCode::out_of_memory,
              [&] { budget.check({.name = "mlp", .bytes = 1024 * kMiB + 1, .remedy = "set memory.recompute: auto"}); }),
      "arena for 'mlp' needs 1.0 GiB (1073741825 bytes), budget is 1.0 GiB (1073741824 bytes); set "
      "memory.recompute: auto");
}

TEST_F(BudgetTest, FullDeviceRefusesWhatTheBudgetAllows) {
  const Budget budget(parse_byte_limit("4GiB"), device_);
  EXPECT_EQ(refusal(ErrorCode::out_of_memory, [&] { budget.check({.name = "mlp", .bytes = 3072 * kMiB}); }),
            "arena for 'mlp' needs 3.0 GiB, device 'cpu' can give 1.9 GiB of 8.0 GiB; stop other programs or lower "
            "memory.micro_batch");
}

TEST_F(BudgetTest, BudgetBelowOnePageIsAConfigError) {
  EXPECT_EQ(refusal(ErrorCode::config, [&] { Budget(parse_byte_limit("1KiB"), device_); }),
            "memory.budget 1KiB is 1.0 KiB, below one page of device 'cpu' (2.0 MiB)");
}

}  // namespace
}  // namespace tidemark::memory
