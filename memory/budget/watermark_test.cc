#include "memory/budget/watermark.h"

#include <gtest/gtest.h>

namespace tidemark::memory {
namespace {

TEST(Watermark, WarnsOncePerCrossing) {
  Watermark watermark(900);
  EXPECT_EQ(watermark.line_bytes(), 900);
  EXPECT_FALSE(watermark.update(899));
  EXPECT_TRUE(watermark.update(900));
  EXPECT_FALSE(watermark.update(950));
  EXPECT_FALSE(watermark.update(880)) << "not far enough below";
  EXPECT_FALSE(watermark.update(901)) << "so this is the same crossing";
  EXPECT_FALSE(watermark.update(854));
  EXPECT_TRUE(watermark.update(900));
  EXPECT_EQ(watermark.crossings(), 2);
}

TEST(Watermark, WhatIsPlannedIsNoReasonToWarn) {
  Watermark watermark(900, 960);
  EXPECT_FALSE(watermark.update(960));
  EXPECT_TRUE(watermark.update(961));
}

TEST(Watermark, NoneWithoutALine) {
  Watermark watermark(0);
  EXPECT_FALSE(watermark.update(1000));
  EXPECT_EQ(watermark.line_bytes(), 0);
  EXPECT_EQ(watermark.crossings(), 0);
}

}  // namespace
}  // namespace tidemark::memory
