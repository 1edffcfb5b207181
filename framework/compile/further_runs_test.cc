#include "framework/compile/further_runs.h"

#include <gtest/gtest.h>

namespace tidemark::compile {
namespace {

TEST(FurtherRuns, AreNamedAfterTheFirst) {
  EXPECT_EQ(first_run_of("h0/again"), "h0");
  EXPECT_EQ(first_run_of("layer0/mlp/up/again_12"), "layer0/mlp/up");
}

TEST(FurtherRuns, OtherNamesAreOfFirstRuns) {
  for (const char* name : {"", "h0", "h0_2", "again", "h0/again_", "h0/again_x", "h0/again_2x", "h0/against",
                           "h0/again/workspace", "stem/again2"})
    EXPECT_EQ(first_run_of(name), "") << name;
}

}  // namespace
}  // namespace tidemark::compile
