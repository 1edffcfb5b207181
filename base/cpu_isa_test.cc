#include "base/cpu_isa.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace tidemark {
namespace {

class CpuIsaTest : public testing::Test {
 protected:
  void SetUp() override { unsetenv("TIDEMARK_MAX_ISA"); }
  void TearDown() override { unsetenv("TIDEMARK_MAX_ISA"); }
};

TEST_F(CpuIsaTest, AgreesWithTheFeaturesOfTheCpu) {
  EXPECT_EQ(cpu_isa() >= CpuIsa::x86_64_v3, __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
  EXPECT_EQ(cpu_isa() >= CpuIsa::x86_64_v4, __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

TEST_F(CpuIsaTest, EnvironmentLowersTheLevel) {
  setenv("TIDEMARK_MAX_ISA", "v2", 1);
  EXPECT_EQ(cpu_isa(), CpuIsa::x86_64_v2);
}

TEST_F(CpuIsaTest, EnvironmentNeverRaisesTheLevel) {
  const CpuIsa machine = cpu_isa();
  setenv("TIDEMARK_MAX_ISA", "v4", 1);
  EXPECT_EQ(cpu_isa(), machine);
}

TEST_F(CpuIsaTest, BadEnvironmentIsAConfigError) {
  setenv("TIDEMARK_MAX_ISA", "avx2", 1);
  try {
    cpu_isa();
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config);
    EXPECT_STREQ(e.what(), "TIDEMARK_MAX_ISA: CPU level 'avx2' is unknown; the levels are v2, v3, v4");
  }
}

TEST_F(CpuIsaTest, NamesReadBack) {
  for (CpuIsa isa : {CpuIsa::x86_64_v2, CpuIsa::x86_64_v3, CpuIsa::x86_64_v4}) {
    EXPECT_EQ(parse_cpu_isa(to_string(isa)), isa);
  }
}

}  // namespace
}  // namespace tidemark
