#include "framework/cli/measuring_line.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tidemark::cli {
namespace {

class MeasuringLineTest : public ::testing::Test {
 protected:
  // Measures ten figures, `seconds` each, and gives what was written.
  std::string measured(bool terminal, double seconds) {
    std::ostringstream out;
    MeasuringLine line(out, terminal, 40, [this] { return time_; });
    for (int64_t i = 0; i < 10; ++i, time_ += seconds) line.tell({"step[4]", "layer0/attention/scores", i, 10});
    line.tell({"step[4]", "", 10, 10});
    return out.str();
  }

  double time_ = 100;
};

TEST_F(MeasuringLineTest, OneLineEveryFewSecondsAndOneAtTheEnd) {
  EXPECT_EQ(measured(false, 2),
            "measuring costs of 'step[4]': 1/10 layer0/attention/scores\n"
            "measuring costs of 'step[4]': 4/10 layer0/attention/scores\n"
            "measuring costs of 'step[4]': 7/10 layer0/attention/scores\n"
            "measured 10 costs of 'step[4]' in 20.0 s\n");
}

TEST_F(MeasuringLineTest, WhatIsQuickSaysNothing) { EXPECT_EQ(measured(false, 0.1), ""); }

TEST_F(MeasuringLineTest, ATerminalHasOneLineInPlaceThatFitsAndGoes) {
  const std::string text = measured(true, 0.3);
  EXPECT_TRUE(text.starts_with("measuring costs of 'step[4]': 0/10 lay")) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_TRUE(text.ends_with("\r\x1b[K")) << text;
  const size_t first = text.find('\r');
  EXPECT_EQ(first, 39U) << "a column stays free";
}

TEST_F(MeasuringLineTest, AFaultLeavesNoHalfLine) {
  std::ostringstream out;
  { MeasuringLine(out, true, 80).tell({"step[4]", "layer0", 0, 10}); }
  EXPECT_TRUE(out.str().ends_with("\r\x1b[K"));
}

}  // namespace
}  // namespace tidemark::cli
