#include "framework/data/gzip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "framework/data/testing/files.h"

namespace tidemark::data {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr int64_t kLimit = 1 << 24;

std::string read_bytes(const std::string& packed, int64_t limit = kLimit) {
  const std::string path = testing::TempDir() + "f.gz";
  write_file(path, packed);
  return read_maybe_gzip(path, limit);
}

std::string text_of(size_t bytes) {
  std::string text;
  for (size_t i = 0; text.size() < bytes; ++i) text += std::to_string(i * i % 1009) + " ";
  return text;
}

TEST(Gzip, PlainPackedAndSeveralMembersReadAlike) {
  const std::string text = text_of(200'000);
  EXPECT_EQ(read_bytes(text), text);
  EXPECT_EQ(read_bytes(gzip(text)), text);
  EXPECT_EQ(read_bytes(gzip(text) + gzip("more")), text + "more");
  EXPECT_EQ(read_bytes(gzip("")), "");
  EXPECT_EQ(read_bytes(""), "");
}

TEST(Gzip, AFileCutAnywhereIsRefusedWithItsLength) {
  const std::string packed = gzip(text_of(1000));
  for (size_t bytes = 2; bytes < packed.size(); ++bytes) {
    EXPECT_THAT(error_of([&] { read_bytes(packed.substr(0, bytes)); }),
                testing::AllOf(StartsWith("data: "),
                               HasSubstr("/f.gz: offset " + std::to_string(bytes) + ": the gzip data is cut short")));
  }
}

TEST(Gzip, AnyFlippedBitIsNoticedOrChangesNothing) {
  const std::string text = text_of(300);
  const std::string packed = gzip(text);
  int refused = 0;
  for (size_t bit = 0; bit < packed.size() * 8; ++bit) {
    std::string damaged = packed;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
    if (!damaged.starts_with("\x1f\x8b")) continue;  // then it is a plain file
    const std::string error = error_of([&] { EXPECT_EQ(read_bytes(damaged), text) << "bit " << bit; });
    if (error.empty()) continue;
    EXPECT_THAT(error, HasSubstr("offset "));
    ++refused;
  }
  EXPECT_GT(refused, static_cast<int>(packed.size()) * 6);
}

TEST(Gzip, WhatFollowsMustBeGzipToo) {
  const std::string packed = gzip("abc");
  EXPECT_THAT(error_of([&] { read_bytes(packed + "x"); }),
              HasSubstr("offset " + std::to_string(packed.size()) + ": something that is no gzip data follows"));
}

TEST(Gzip, TooMuchIsRefusedBeforeItIsUnpacked) {
  const std::string bomb = gzip(std::string(5'000'000, 'a'));
  EXPECT_THAT(error_of([&] { read_bytes(bomb, 1000); }), HasSubstr("more than the 1000 bytes"));
  EXPECT_THAT(error_of([&] { read_bytes(std::string(1001, 'a'), 1000); }), HasSubstr("longer than allowed"));
}

TEST(Gzip, AMissingFileIsAnInputOutputError) {
  EXPECT_THAT(error_of([] { read_maybe_gzip("no/such/file", kLimit); }), StartsWith("io: "));
}

}  // namespace
}  // namespace tidemark::data
