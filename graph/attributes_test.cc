#include "graph/attributes.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark {
namespace {

const Attributes kAll{{"flag", true},
                      {"count", int64_t{3}},
                      {"rate", 0.5},
                      {"kind", std::string("gelu")},
                      {"shape", std::vector<int64_t>{2, 3}}};

template <class Read>
std::string message_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::config);
    return error.what();
  }
  return "no error";
}

TEST(Attributes, EveryKindIsRead) {
  EXPECT_TRUE(kAll.boolean("flag"));
  EXPECT_EQ(kAll.integer("count"), 3);
  EXPECT_EQ(kAll.real("rate"), 0.5);
  EXPECT_EQ(kAll.real("count"), 3.0);
  EXPECT_EQ(kAll.text("kind"), "gelu");
  EXPECT_EQ(kAll.integers("shape"), (std::vector<int64_t>{2, 3}));
}

TEST(Attributes, MissingOnesTakeTheOtherValue) {
  EXPECT_TRUE(kAll.boolean_or("other", true));
  EXPECT_EQ(kAll.integer_or("other", 7), 7);
  EXPECT_EQ(kAll.real_or("other", 0.25), 0.25);
  EXPECT_EQ(kAll.text_or("other", "none"), "none");
  EXPECT_EQ(kAll.integer_or("count", 7), 3);
  EXPECT_EQ(kAll.text_or("kind", "none"), "gelu");
}

TEST(Attributes, ErrorsNameTheAttributeAndBothKinds) {
  EXPECT_EQ(message_of([] { kAll.integer("depth"); }), "attribute 'depth' is missing");
  EXPECT_EQ(message_of([] { kAll.integer("rate"); }), "attribute 'rate' must be an integer, not a real number");
  EXPECT_EQ(message_of([] { kAll.boolean_or("kind", true); }), "attribute 'kind' must be a bool, not a text");
  EXPECT_EQ(message_of([] { kAll.real("shape"); }), "attribute 'shape' must be a real number, not a list of integers");
}

TEST(Attributes, SetReplaces) {
  Attributes attributes = kAll;
  EXPECT_EQ(attributes, kAll);
  attributes.set("count", int64_t{4});
  EXPECT_EQ(attributes.integer("count"), 4);
  EXPECT_NE(attributes, kAll);
}

}  // namespace
}  // namespace tidemark
