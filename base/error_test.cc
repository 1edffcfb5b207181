#include "base/error.h"

#include <gtest/gtest.h>

namespace tidemark {
namespace {

TEST(Error, CarriesCodeAndMessage) {
  try {
    throw Error(ErrorCode::io, "disk is full");
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "disk is full");
    EXPECT_EQ(dynamic_cast<const Error&>(e).code(), ErrorCode::io);
  }
}

TEST(Error, ExitCodesAreTheDocumentedOnes) {
  EXPECT_EQ(exit_code(ErrorCode::config), 2);
  EXPECT_EQ(exit_code(ErrorCode::out_of_memory), 3);
  EXPECT_EQ(exit_code(ErrorCode::data), 4);
  for (ErrorCode code : {ErrorCode::device, ErrorCode::io, ErrorCode::peer}) EXPECT_EQ(exit_code(code), 1);
}

TEST(Error, CodesHaveDistinctNames) {
  EXPECT_EQ(to_string(ErrorCode::config), "config");
  EXPECT_EQ(to_string(ErrorCode::out_of_memory), "out_of_memory");
  EXPECT_EQ(to_string(ErrorCode::peer), "peer");
}

TEST(CheckDeathTest, AbortsWithConditionAndMessage) {
  const int n = 3;
  TM_CHECK(n == 3, "not reached");
  EXPECT_DEATH(TM_CHECK(n == 4, "n is " + std::to_string(n)), "error_test.cc:[0-9]+: check failed: n == 4: n is 3");
}

}  // namespace
}  // namespace tidemark
