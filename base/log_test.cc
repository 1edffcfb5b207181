#include "base/log.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/error.h"

namespace tidemark {
namespace {

// What the calls in `body` write to standard error.
template <class Body>
std::string logged(Body body) {
  testing::internal::CaptureStderr();
  body();
  return testing::internal::GetCapturedStderr();
}

TEST(Log, FirstEventGoesToStandardErrorWithoutAnySetUp) {
  testing::internal::CaptureStdout();
  const std::string text = logged([] { log(LogLevel::info, "hello"); });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_TRUE(std::regex_match(
      text, std::regex(R"(time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=info rank=0 event=hello\n)")))
      << text;
}

TEST(Log, OneLinePerEventWithRankAndFields) {
  start_logging(LogLevel::info, 3);
  const std::string text = logged([] {
    log(LogLevel::warning, "device_full", {{"device", "cpu"}, {"bytes", int64_t{12}}, {"share", 0.5}, {"hard", true}});
  });
  EXPECT_TRUE(std::regex_match(
      text, std::regex(".* level=warning rank=3 event=device_full device=cpu bytes=12 share=0.5 hard=true\n")))
      << text;
}

TEST(Log, ValuesCannotBreakTheLine) {
  start_logging(LogLevel::info, 0);
  const std::string text = logged([] {
    log(LogLevel::info, "x", {{"a", "two words"}, {"b", "say \"a\\b\""}, {"c", "1\n2\t"}, {"d", ""}, {"e", "{}%v"}});
  });
  EXPECT_NE(text.find(R"(event=x a="two words" b="say \"a\\b\"" c="1\n2\x09" d="" e={}%v)"
                      "\n"),
            std::string::npos)
      << text;
}

TEST(Log, LevelHidesWhatIsBelow) {
  start_logging(LogLevel::error, 0);
  EXPECT_EQ(logged([] { log(LogLevel::warning, "hidden"); }), "");
  EXPECT_NE(logged([] { log(LogLevel::error, "shown"); }), "");
  EXPECT_FALSE(log_enabled(LogLevel::info));
  start_logging(LogLevel::off, 0);
  EXPECT_EQ(logged([] { log(LogLevel::error, "hidden"); }), "");
}

TEST(Log, LevelNamesReadBack) {
  EXPECT_EQ(parse_log_level("warning"), LogLevel::warning);
  EXPECT_EQ(to_string(LogLevel::debug), "debug");
  try {
    parse_log_level("loud");
    FAIL() << "accepted";
  } catch (const Error& e) {
    EXPECT_STREQ(e.what(), "log level 'loud' is unknown; the levels are debug, info, warning, error, off");
  }
}

}  // namespace
}  // namespace tidemark
