#include "framework/data/text_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "framework/config/testing/set_field.h"
#include "framework/data/testing/files.h"

namespace tidemark::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TextKind kind_of(const std::string& path, double eval_share) {
  TextKind kind;
  config::set_text(kind, "path", path);
  config::set_real(kind, "eval_share", eval_share);
  return kind;
}

std::unique_ptr<Dataset> open_text(std::string_view text, int64_t context, double eval_share) {
  const std::string path = test_folder() + "/text";
  write_file(path, text);
  return kind_of(path, eval_share).open(context);
}

struct Window {
  std::vector<int32_t> tokens;
  std::vector<int32_t> targets;
};

Window read(const Dataset& dataset, Split split, int64_t index) {
  const auto context = static_cast<size_t>(dataset.info().fields[0].sample.shape[0]);
  Window window{std::vector<int32_t>(context), std::vector<int32_t>(context)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(window.tokens.data()),
                                     reinterpret_cast<std::byte*>(window.targets.data())};
  dataset.read(split, index, destinations);
  return window;
}

TEST(TextData, WindowsFollowEachOtherAndTheLastOneIsPadded) {
  const auto dataset = open_text("abcdefghXYZ", 3, 0.3);
  ASSERT_EQ(dataset->size(Split::train), 3);  // 8 bytes, 7 of them with a target
  const Window first = read(*dataset, Split::train, 0);
  EXPECT_THAT(first.tokens, ElementsAre('a', 'b', 'c'));
  EXPECT_THAT(first.targets, ElementsAre('b', 'c', 'd'));
  const Window last = read(*dataset, Split::train, 2);
  EXPECT_THAT(last.tokens, ElementsAre('g', 0, 0));
  EXPECT_THAT(last.targets, ElementsAre('h', -1, -1));
  EXPECT_EQ(dataset->targets(Split::train, 0), 3);
  EXPECT_EQ(dataset->targets(Split::train, 2), 1);

  ASSERT_EQ(dataset->size(Split::eval), 1);
  EXPECT_THAT(read(*dataset, Split::eval, 0).tokens, ElementsAre('X', 'Y', 0));
  EXPECT_EQ(dataset->targets(Split::eval, 0), 2);
}

TEST(TextData, AWindowThatEndsWithTheTextIsWhole) {
  const auto dataset = open_text("abcdefgXY", 3, 0.25);
  ASSERT_EQ(dataset->size(Split::train), 2);
  EXPECT_THAT(read(*dataset, Split::train, 1).targets, ElementsAre('e', 'f', 'g'));
}

TEST(TextData, BothSplitsHaveASampleHoweverSmallTheShare) {
  EXPECT_EQ(open_text("abcdefghij", 100, 0.0001)->targets(Split::eval, 0), 1);
  EXPECT_EQ(open_text("abcdefghij", 100, 0.9999)->targets(Split::train, 0), 1);
}

TEST(TextData, BytesAboveAsciiArePositiveTokens) {
  const auto dataset = open_text("\u00e9\u00e9\u00e9\u00e9", 2, 0.25);
  EXPECT_THAT(read(*dataset, Split::train, 0).tokens, ElementsAre(0xC3, 0xA9));
  EXPECT_EQ(dataset->info().classes, 256);
}

TEST(TextData, WhatItsTokensAreIsKnownWithoutTheFile) {
  const TextKind kind;
  EXPECT_EQ(kind.known_info(7)->classes, 256);
  EXPECT_EQ(kind.known_info(7)->fields[1].sample, (ValueType{DType::i32, {7}}));
}

TEST(TextData, AFolderIsReadInOrderOfNames) {
  const std::string folder = test_folder();
  write_file(folder + "/2", "cd");
  write_file(folder + "/1.gz", gzip("ab"));
  write_file(folder + "/3.dz", gzip("XY"));
  const auto dataset = kind_of(folder, 0.3).open(8);
  EXPECT_THAT(read(*dataset, Split::train, 0).tokens, ElementsAre('a', 'b', 'c', 0, 0, 0, 0, 0));
}

TEST(TextData, WrongTextsAreNamedWithTheOffset) {
  const std::string path = test_folder() + "/t";
  const auto opened = [&](std::string_view text) {
    write_file(path, text);
    return error_of([&] { kind_of(path, 0.1).open(4); });
  };
  EXPECT_EQ(opened(""), "data: " + path + ": offset 0: the text is empty");
  EXPECT_EQ(opened(gzip("")), "data: " + path + ": offset 0: the text is empty");
  EXPECT_THAT(opened("abc"), HasSubstr(path + ": offset 3: the text ends; "));
  EXPECT_EQ(opened("abcdef\xff"), "data: " + path + ": offset 6 of the text: not valid UTF-8");
  EXPECT_EQ(opened(gzip("abcdef\xff")), "data: " + path + ": offset 6 of the text: not valid UTF-8");
  EXPECT_THAT(opened(gzip("abcdef").substr(0, 20)), HasSubstr("offset 20: the gzip data is cut short"));
  EXPECT_EQ(opened("abcd"), "");
  EXPECT_THAT(error_of([&] { kind_of(path, 0.1).open(0); }), testing::StartsWith("config: "));
  EXPECT_THAT(error_of([&] { kind_of(path + "x", 0.1).open(4); }), testing::StartsWith("io: "));
  const std::string folder = test_folder() + "/empty";
  std::filesystem::create_directory(folder);
  EXPECT_THAT(error_of([&] { kind_of(folder, 0.1).open(4); }), HasSubstr("holds no files"));
}

}  // namespace
}  // namespace tidemark::data
