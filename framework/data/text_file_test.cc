#include "framework/data/text_file.h"

#include <gtest/gtest.h>

namespace tidemark::data {
namespace {

TEST(Utf8, WellFormedSequencesPassAndOthersHaveTheirOffset) {
  EXPECT_EQ(find_invalid_utf8("a\u00e9\u20ac\U0001F600z"), -1);
  for (const char* wrong : {"\x80", "\xC1\xBF", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xF0\x8F\xBF\xBF", "\xF4\x90\x80\x80",
                            "\xF5\x80\x80\x80", "\xC3", "\xE2\x82", "\xF0\x9F\x98", "\xC3\x28"}) {
    EXPECT_EQ(find_invalid_utf8(std::string("ab") + wrong), 2) << wrong;
  }
}

}  // namespace
}  // namespace tidemark::data
