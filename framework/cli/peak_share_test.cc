#include "framework/cli/peak_share.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::cli {
namespace {

TEST(PeakShare, IsAShareBeforeTheWord) {
  EXPECT_EQ(parse_peak_share("50%peak"), 0.5);
  EXPECT_EQ(parse_peak_share(" 12.5% peak "), 0.125);
  for (const char* other : {"", "50%", "4GiB", "peak 50%"}) EXPECT_EQ(parse_peak_share(other), std::nullopt) << other;
}

TEST(PeakShare, OfSomethingElseIsRefused) {
  for (const char* wrong : {"peak", "4GiB peak", "0.5peak", "0%peak", "101%peak", "-1%peak"})
    EXPECT_THROW(parse_peak_share(wrong), Error) << wrong;
}

TEST(PeakShare, IsWholePages) {
  EXPECT_EQ(peak_share_bytes(0.5, 900, 100), 400);
  EXPECT_EQ(peak_share_bytes(1, 900, 100), 900);
  EXPECT_EQ(peak_share_bytes(0.01, 900, 100), 100);
}

}  // namespace
}  // namespace tidemark::cli
