#include "framework/data/lines_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "framework/config/testing/set_field.h"
#include "framework/data/testing/files.h"

namespace tidemark::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

LinesKind kind_of(const std::string& path, int64_t max_length = 64, double eval_share = 0.1) {
  LinesKind kind;
  config::set_text(kind, "path", path);
  config::set_integer(kind, "max_length", max_length);
  config::set_real(kind, "eval_share", eval_share);
  return kind;
}

std::unique_ptr<Dataset> open_lines(std::string_view text, int64_t max_length = 64, double eval_share = 0.1) {
  const std::string path = test_folder() + "/lines";
  write_file(path, text);
  return kind_of(path, max_length, eval_share).open(0);
}

struct Line {
  std::vector<int32_t> tokens, targets;
  int32_t length = 0;
};

Line read(const Dataset& dataset, Split split, int64_t index) {
  const auto rows = static_cast<size_t>(dataset.length(split, index));
  Line line{std::vector<int32_t>(rows), std::vector<int32_t>(rows)};
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(line.tokens.data()),
                                     reinterpret_cast<std::byte*>(line.targets.data()),
                                     reinterpret_cast<std::byte*>(&line.length)};
  dataset.read(split, index, destinations);
  return line;
}

std::string text_of(const Dataset& dataset, Split split, int64_t index) {
  const Line line = read(dataset, split, index);
  return std::string(line.tokens.begin() + 1, line.tokens.end());
}

TEST(LinesData, ALineIsReadFromALineFeedToALineFeed) {
  const auto dataset = open_lines("abc\n\u00e9\nlast");
  EXPECT_TRUE(dataset->info().packed);
  EXPECT_EQ(dataset->info().classes, 256);
  ASSERT_EQ(dataset->size(Split::train), 2);
  const Line first = read(*dataset, Split::train, 0);
  EXPECT_THAT(first.tokens, ElementsAre('\n', 'a', 'b', 'c'));
  EXPECT_THAT(first.targets, ElementsAre('a', 'b', 'c', '\n'));
  EXPECT_EQ(first.length, 4);
  EXPECT_EQ(dataset->targets(Split::train, 0), 4);
  EXPECT_THAT(read(*dataset, Split::train, 1).targets, ElementsAre(0xC3, 0xA9, '\n'));
  EXPECT_EQ(text_of(*dataset, Split::eval, 0), "last") << "the last line needs no line feed";
}

TEST(LinesData, EmptyAndLongLinesAreLeftOut) {
  const auto dataset = open_lines("\nab\r\n\r\nabcd\nabc\r\n\nx\n", 3, 0.3);
  ASSERT_EQ(dataset->size(Split::train) + dataset->size(Split::eval), 3);
  EXPECT_EQ(text_of(*dataset, Split::train, 0), "ab");
  EXPECT_EQ(text_of(*dataset, Split::train, 1), "abc");
  EXPECT_EQ(text_of(*dataset, Split::eval, 0), "x");
}

TEST(LinesData, EvaluationLinesAreSpreadOverTheText) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += std::to_string(100 + i) + "\n";
  const auto dataset = open_lines(text, 64, 0.2);
  ASSERT_EQ(dataset->size(Split::eval), 20);
  std::set<std::string> seen;
  for (int64_t i = 0; i < 20; ++i) {
    const std::string line = text_of(*dataset, Split::eval, i);
    EXPECT_EQ((std::stoi(line) - 100) / 5, i) << line;
    seen.insert(line);
  }
  for (int64_t i = 0; i < dataset->size(Split::train); ++i) seen.insert(text_of(*dataset, Split::train, i));
  EXPECT_EQ(seen.size(), 100U) << "every line is in one split";
  EXPECT_EQ(open_lines(text, 64, 0.0001)->size(Split::eval), 1);
  EXPECT_EQ(open_lines(text, 64, 0.9999)->size(Split::train), 1);
}

TEST(LinesData, FilesOfAFolderDoNotRunIntoEachOther) {
  const std::string folder = test_folder();
  write_file(folder + "/1", "one");
  write_file(folder + "/2.gz", gzip("two\nthree"));
  const auto dataset = kind_of(folder).open(0);
  EXPECT_EQ(text_of(*dataset, Split::train, 0), "one");
  EXPECT_EQ(text_of(*dataset, Split::train, 1), "two");
  EXPECT_EQ(text_of(*dataset, Split::eval, 0), "three");
}

TEST(LinesData, WrongTextsAreNamed) {
  const std::string path = test_folder() + "/t";
  const auto opened = [&](std::string_view text) {
    write_file(path, text);
    return error_of([&] { kind_of(path, 4).open(0); });
  };
  EXPECT_EQ(opened(""), "data: " + path + ": offset 0: the text is empty");
  EXPECT_EQ(opened("ab\n\xff\n"), "data: " + path + ": offset 3 of the text: not valid UTF-8");
  EXPECT_THAT(opened("ab\nabcde\n"), HasSubstr("data: " + path + ": has 1 lines of 1 to 4 bytes (1 are longer)"));
  EXPECT_THAT(opened("\n\n"), HasSubstr("has 0 lines"));
  EXPECT_EQ(opened("a\nb"), "");
  EXPECT_THAT(error_of([&] { kind_of(path + "x").open(0); }), testing::StartsWith("io: "));
}

}  // namespace
}  // namespace tidemark::data
