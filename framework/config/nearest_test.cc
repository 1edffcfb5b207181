#include "framework/config/nearest.h"

#include <gtest/gtest.h>

namespace tidemark::config {
namespace {

TEST(EditDistance, CountsEditsAndSwapsOnce) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(edit_distance("tarin", "train"), 1);
  EXPECT_EQ(edit_distance("steps", "steps"), 0);
}

TEST(Nearest, TakesTheClosestAndRefusesTheFar) {
  const std::vector<std::string> keys = {"steps", "epochs", "eps", "lr"};
  EXPECT_EQ(nearest("setps", keys), "steps");
  EXPECT_EQ(nearest("epoch", keys), "epochs");
  EXPECT_EQ(nearest("esp", keys), "eps");
  EXPECT_EQ(nearest("optimizer", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest(std::string(100'000, 's'), keys), "");
}

}  // namespace
}  // namespace tidemark::config
