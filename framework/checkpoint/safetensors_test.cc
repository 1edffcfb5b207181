#include "framework/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"

namespace tidemark::checkpoint {
namespace {

using testing::HasSubstr;

std::string test_file() { return testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name(); }

template <class Type>
std::span<const std::byte> bytes_of(const std::vector<Type>& values) {
  return std::as_bytes(std::span(values));
}

std::string write_all(std::span<const TensorView> tensors) {
  std::string out;
  write_safetensors(tensors, [&](std::span<const std::byte> piece) {
    out.append(reinterpret_cast<const char*>(piece.data()), piece.size());
  });
  return out;
}

std::string two_tensors() {
  static const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  static const std::vector<int32_t> b = {7};
  const TensorView tensors[] = {{"a/weight", {DType::f32, {2, 3}}, bytes_of(a)}, {"b", {DType::i32, {1}}, bytes_of(b)}};
  return write_all(tensors);
}

// A file with this JSON and so many bytes of data.
std::string with_header(const std::string& json, size_t data_bytes) {
  const uint64_t length = json.size();
  std::string out(8, '\0');
  std::memcpy(out.data(), &length, 8);
  return out + json + std::string(data_bytes, 'x');
}

// Without flushing, unlike replace_file(): the tests write thousands of files.
void write_plain(const std::string& contents) {
  std::filesystem::remove(test_file());  // cutting a file to nothing flushes on some file systems
  std::ofstream out(test_file(), std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

std::vector<StoredTensor> read_contents(const std::string& contents) {
  write_plain(contents);
  const InputFile file(test_file());
  return read_safetensors_header(file);
}

std::string fault(const std::string& contents) {
  try {
    read_contents(contents);
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data);
    return e.what();
  }
}

TEST(Safetensors, WhatIsWrittenReadsBack) {
  const std::string contents = two_tensors();
  const auto tensors = read_contents(contents);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "a/weight");
  EXPECT_EQ(tensors[0].type, (ValueType{DType::f32, {2, 3}}));
  EXPECT_EQ(tensors[0].offset % 8, 0);
  float third = 0;
  std::memcpy(&third, contents.data() + tensors[0].offset + 8, 4);
  EXPECT_EQ(third, 3.0f);
  EXPECT_EQ(tensors[1].offset, tensors[0].offset + 24);
}

TEST(Safetensors, TheHeaderIsWhatOtherProgramsExpect) {
  EXPECT_THAT(two_tensors().substr(8),
              testing::StartsWith(R"({"a/weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                                  R"("b":{"dtype":"I32","shape":[1],"data_offsets":[24,28]}})"));
  EXPECT_EQ(read_contents(with_header(
                R"({"__metadata__":{"format":"pt"},"h":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}} )", 2))[0]
                .type,
            (ValueType{DType::bf16, Shape(std::vector<int64_t>{})}));
}

TEST(Safetensors, LargeTensorsAreHandedOverInPieces) {
  const std::vector<std::byte> big(5'000'000);
  const TensorView tensor{"big", {DType::u8, {5'000'000}}, big};
  size_t largest = 0, total = 0;
  write_safetensors(std::span(&tensor, 1), [&](std::span<const std::byte> piece) {
    largest = std::max(largest, piece.size());
    total += piece.size();
  });
  EXPECT_LE(largest, size_t{1} << 20);
  EXPECT_GT(total, big.size());
}

TEST(Safetensors, AFileCutAnywhereIsRefused) {
  const std::string contents = two_tensors();
  for (size_t bytes = 0; bytes < contents.size(); ++bytes) {
    EXPECT_THAT(fault(contents.substr(0, bytes)), HasSubstr(test_file())) << bytes;
  }
  EXPECT_THAT(fault(contents + "x"), HasSubstr("bytes that belong to no tensor"));
}

TEST(Safetensors, HeadersThatLieAreRefused) {
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& range) {
    return R"({"t":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + range + "}}";
  };
  EXPECT_EQ(fault(with_header(entry(R"("F32")", "[2]", "[0,8]"), 8)), "");
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[2]", "[0,12]"), 12)), HasSubstr("wrong byte range"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[2]", "[0,8]"), 7)), HasSubstr("wrong byte range"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[2]", "[4,12]"), 12)), HasSubstr("gap or overlap"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[2]", "[8,0]"), 8)), HasSubstr("wrong byte range"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[2]", "[0,8,9]"), 8)), HasSubstr("wrong byte range"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[-2]", "[0,8]"), 8)), HasSubstr("no list of sizes"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[1.5]", "[0,8]"), 8)), HasSubstr("no list of sizes"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "2", "[0,8]"), 8)), HasSubstr("no list of sizes"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[4611686018427387904,4]", "[0,0]"), 0)),
              HasSubstr("wrong byte range"));
  EXPECT_THAT(fault(with_header(entry(R"("F32")", "[18446744073709551615]", "[0,8]"), 8)),
              HasSubstr("no list of sizes"));
  EXPECT_THAT(fault(with_header(entry(R"("F64")", "[1]", "[0,8]"), 8)), HasSubstr("unknown dtype \"F64\""));
  EXPECT_THAT(fault(with_header(entry("3", "[1]", "[0,8]"), 8)), HasSubstr("unknown dtype 3"));
  EXPECT_THAT(fault(with_header(R"({"t":{"dtype":"F32"}})", 0)), HasSubstr("needs dtype, shape"));
  EXPECT_THAT(fault(with_header(R"({"t":5})", 0)), HasSubstr("needs dtype, shape"));
  EXPECT_THAT(fault(with_header("[]", 0)), HasSubstr("no JSON object"));
  EXPECT_THAT(fault(with_header("{", 0)), HasSubstr("no JSON"));
  EXPECT_THAT(fault(std::string(8, '\xff') + "{}"), HasSubstr("header length 18446744073709551615"));
}

TEST(Safetensors, TwoTensorsMayNotShareBytesOrAName) {
  const std::string a = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  const std::string b = R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]})";
  EXPECT_THAT(fault(with_header("{" + a + "," + b + "}", 6)), HasSubstr("gap or overlap before tensor 'b'"));
  EXPECT_THAT(fault(with_header("{" + a + "," + a + "}", 4)), HasSubstr("tensor 'a' is there twice"));
}

TEST(Safetensors, RandomDamageGivesTensorsInsideTheFileOrAnError) {
  const std::string contents = two_tensors();
  std::mt19937 random(11);
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = contents;
    for (int i = 0; i < 2; ++i) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      for (const StoredTensor& tensor : read_contents(damaged)) {
        EXPECT_LE(tensor.offset + tensor.type.bytes(), static_cast<int64_t>(damaged.size()));
        EXPECT_GE(tensor.offset, 8);
      }
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::data);
    }
  }
}

}  // namespace
}  // namespace tidemark::checkpoint
