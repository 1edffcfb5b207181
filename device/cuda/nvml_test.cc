#include "device/cuda/nvml.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "device/device_memory.h"

namespace tidemark {
namespace {

// What the fake library knows.
struct Fake {
  std::string bus_id = "0000:3b:00.0";
  std::vector<NvmlProcess> compute, graphics;
  int failure = 0;  // of the list of graphics processes
} fake;

int give(const std::vector<NvmlProcess>& list, unsigned* count, NvmlProcess* processes) {
  const unsigned room = *count;
  *count = static_cast<unsigned>(list.size());
  if (room < list.size()) return 7;
  std::copy(list.begin(), list.end(), processes);
  return 0;
}

NvmlTable fake_table() {
  NvmlTable table;
  table.init = [] { return 0; };
  table.device_by_pci_bus_id = [](const char* bus_id, NvmlDevice* device) {
    *device = &fake;
    return bus_id == fake.bus_id ? 0 : 6;
  };
  table.compute_processes = [](NvmlDevice, unsigned* n, NvmlProcess* out) { return give(fake.compute, n, out); };
  table.graphics_processes = [](NvmlDevice, unsigned* n, NvmlProcess* out) {
    return fake.failure != 0 ? fake.failure : give(fake.graphics, n, out);
  };
  return table;
}

class NvmlTest : public testing::Test {
 protected:
  void SetUp() override { fake = {}; }
  int64_t foreign() const { return nvml_foreign_bytes(fake_table(), fake.bus_id, 100); }
};

TEST_F(NvmlTest, OthersAreAddedUpAndOwnLeftOut) {
  EXPECT_EQ(foreign(), 0);
  fake.compute = {{100, 5000, 0, 0}, {7, 30, 0, 0}, {8, 12, 0, 0}};
  EXPECT_EQ(foreign(), 42);
}

TEST_F(NvmlTest, ProcessOfBothListsCountsOnce) {
  fake.compute = {{7, 30, 0, 0}};
  fake.graphics = {{7, 30, 0, 0}, {9, 5, 0, 0}};
  EXPECT_EQ(foreign(), 35);
}

TEST_F(NvmlTest, AnyNumberOfProcesses) {
  for (unsigned pid = 1000; pid < 1300; ++pid) fake.compute.push_back({pid, 2, 0, 0});
  EXPECT_EQ(foreign(), 600);
}

TEST_F(NvmlTest, WhatItCannotTellIsUnknown) {
  fake.compute = {{7, ~0ULL, 0, 0}};
  EXPECT_EQ(foreign(), kUnknownBytes);
  fake.compute = {{100, ~0ULL, 0, 0}};
  EXPECT_EQ(foreign(), 0) << "what we hold ourselves is not asked";
  fake.failure = 3;
  EXPECT_EQ(foreign(), kUnknownBytes);
  EXPECT_EQ(nvml_foreign_bytes(fake_table(), "0000:00:00.0", 100), kUnknownBytes);
  EXPECT_EQ(nvml_foreign_bytes({}, fake.bus_id, 100), kUnknownBytes);
}

// On any machine: the library is there and gives all calls or it is not there.
TEST(Nvml, TableIsWholeOrEmpty) {
  const NvmlTable& table = nvml_table();
  if (!table.init) GTEST_SKIP() << "no libnvidia-ml.so.1";
  EXPECT_TRUE(table.device_by_pci_bus_id && table.compute_processes && table.graphics_processes);
}

}  // namespace
}  // namespace tidemark
