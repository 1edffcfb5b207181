// Real leaks in a program that caches: each is found within 200 steps with its category named, and the same program
// without it is stable.
#include <gtest/gtest.h>

#include <memory>
#include <tuple>

#include "device/host_memory.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"
#include "tests/leaks/leaking_program.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kSteps = 200;

constexpr int64_t kSimBytes = int64_t{512} << 20;

std::unique_ptr<DeviceMemory> make_device(DeviceKind kind) {
  if (kind == DeviceKind::cpu) return std::make_unique<HostMemory>();
  return std::make_unique<SimMemory>(sim_test_name("leaks"), kSimBytes);
}

class Leaks : public ::testing::TestWithParam<std::tuple<Leak, DeviceKind>> {};

TEST_P(Leaks, AreFoundAndNamed) {
  const auto [leak, kind] = GetParam();
  const std::unique_ptr<DeviceMemory> device = make_device(kind);
  const memory::GrowthVerdict verdict = memory::judge_growth(run_program(*device, leak, kSteps));
  EXPECT_EQ(verdict.growing, leak != Leak::none) << describe(verdict);
  EXPECT_EQ(verdict.category, category_of(leak)) << describe(verdict);
  if (!verdict.growing) return;
  const double leaked = leak == Leak::communicator ? 512 << 10 : 64 << 10;  // a page every fourth step
  EXPECT_NEAR(static_cast<double>(verdict.bytes_per_step), leaked, leaked / 8) << describe(verdict);
  EXPECT_LE(verdict.first_step, 60) << describe(verdict);
  EXPECT_GT(verdict.confidence, 0.999);
}

std::string name_of(const ::testing::TestParamInfo<Leaks::ParamType>& info) {
  constexpr const char* kNames[] = {"None",       "UnreleasedBlock", "EndlessCache", "RetainedSession",
                                    "HostMemory", "Communicator"};
  return kNames[static_cast<size_t>(std::get<0>(info.param))] + std::string("_") +
         std::string(to_string(std::get<1>(info.param)));
}

INSTANTIATE_TEST_SUITE_P(All, Leaks,
                         ::testing::Combine(::testing::Values(Leak::none, Leak::unreleased_block, Leak::endless_cache,
                                                              Leak::retained_session, Leak::host_memory,
                                                              Leak::communicator),
                                            ::testing::Values(DeviceKind::cpu, DeviceKind::sim)),
                         name_of);

// Another client of the device takes more and more: that is no growth of ours. Its pages are those of a file, as
// another process's would be: they are no memory of this process's heap.
TEST(Neighbour, IsNotBlamedOnUs) {
  const std::string name = sim_test_name("leaks");
  SimMemory device(name, kSimBytes), others(name, 0);
  std::vector<PageId> taken;
  int64_t step = 0;
  const auto samples = run_program(device, Leak::none, kSteps, [&] {
    if (++step % 4 == 0) others.create_pages(std::span(&taken.emplace_back(), 1));
  });
  EXPECT_EQ(device.foreign_bytes(), kSteps / 4 * others.granularity_bytes());
  others.destroy_pages(taken);
  const memory::GrowthVerdict verdict = memory::judge_growth(samples);
  EXPECT_FALSE(verdict.growing) << describe(verdict);
}

TEST(CalmProgram, IsStableAtEveryLength) {
  HostMemory device;
  const auto samples = run_program(device, Leak::none, 400);
  for (size_t steps : {100, 150, 200, 300, 400}) {
    const memory::GrowthVerdict verdict = memory::judge_growth(std::span(samples).first(steps));
    EXPECT_FALSE(verdict.growing) << steps << " steps: " << describe(verdict);
  }
}

}  // namespace
}  // namespace tidemark::tests
