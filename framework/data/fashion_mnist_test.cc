#include "framework/data/fashion_mnist.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>

#include "framework/config/testing/set_field.h"
#include "framework/data/testing/files.h"

namespace tidemark::data {
namespace {

using testing::HasSubstr;

constexpr unsigned kPixels = 28 * 28;

// A kind whose path is `folder`.
FashionMnistKind kind_in(const std::string& folder) {
  FashionMnistKind kind;
  config::set_text(kind, "path", folder);
  return kind;
}

// Images whose pixels all equal their number; labels count up.
void write_split(const std::string& folder, const std::string& prefix, unsigned count) {
  std::string pixels, labels;
  for (unsigned i = 0; i < count; ++i) {
    pixels += std::string(kPixels, static_cast<char>(i * 50));
    labels += static_cast<char>(i % 10);
  }
  write_file(folder + "/" + prefix + "-images-idx3-ubyte.gz", gzip(idx({count, 28, 28}, pixels)));
  write_file(folder + "/" + prefix + "-labels-idx1-ubyte", idx({count}, labels));
}

std::string small_folder() {
  const std::string folder = test_folder();
  write_split(folder, "train", 5);
  write_split(folder, "t10k", 3);
  return folder;
}

struct Sample {
  std::vector<float> image = std::vector<float>(kPixels);
  int32_t label = -1;
};

Sample read(const Dataset& dataset, Split split, int64_t index) {
  Sample sample;
  std::byte* const destinations[] = {reinterpret_cast<std::byte*>(sample.image.data()),
                                     reinterpret_cast<std::byte*>(&sample.label)};
  dataset.read(split, index, destinations);
  return sample;
}

TEST(FashionMnist, ReadsNormalisedPixelsAndLabels) {
  const auto dataset = kind_in(small_folder()).open(0);
  EXPECT_EQ(dataset->size(Split::train), 5);
  EXPECT_EQ(dataset->size(Split::eval), 3);
  EXPECT_EQ(dataset->info().classes, 10);
  EXPECT_EQ(dataset->info().fields[0].sample, (ValueType{DType::f32, {28, 28, 1}}));
  const Sample sample = read(*dataset, Split::train, 4);
  EXPECT_EQ(sample.label, 4);
  EXPECT_FLOAT_EQ(sample.image[0], (200 / 255.0f - 0.2860f) / 0.3530f);
  EXPECT_EQ(sample.image[0], sample.image[kPixels - 1]);
  EXPECT_EQ(dataset->targets(Split::train, 4), 1);
}

TEST(FashionMnist, FewerTrainingSamplesAreTheFirstOnes) {
  FashionMnistKind kind = kind_in(small_folder());
  config::set_integer(kind, "train_samples", 2);
  EXPECT_EQ(kind.open(0)->size(Split::train), 2);
  EXPECT_EQ(kind.open(0)->size(Split::eval), 3);
  config::set_integer(kind, "train_samples", 100);
  EXPECT_EQ(kind.open(0)->size(Split::train), 5);
}

TEST(FashionMnist, WrongFilesAreNamedWithTheOffset) {
  const std::string folder = small_folder();
  const std::string images = folder + "/train-images-idx3-ubyte.gz";
  const std::string labels = folder + "/t10k-labels-idx1-ubyte";
  const auto opened = [&] { return error_of([&] { kind_in(folder).open(0); }); };
  const std::string good_images = gzip(idx({5, 28, 28}, std::string(5 * kPixels, 'x')));

  write_file(labels, idx({3}, {"\1\2\12", 3}));
  EXPECT_EQ(opened(), "data: " + labels + ": offset 10: label 10 of image 2 is outside 0 to 9");
  write_file(labels, idx({2}, {"\1\2", 2}));
  EXPECT_THAT(opened(), HasSubstr(labels + ": offset 4: 2 labels for 3 images"));
  write_file(labels, idx({3}, {"\1\2\3\4", 4}));
  EXPECT_EQ(opened(), "data: " + labels + ": offset 12: holds 4 bytes of data, its dimensions say 3");
  write_file(labels, idx({3}, {"\1\2\3", 3}));
  EXPECT_EQ(opened(), "");

  write_file(images, idx({5, 28, 28}, std::string(5 * kPixels - 1, 'x')));
  EXPECT_THAT(opened(), HasSubstr("holds 3919 bytes of data, its dimensions say 3920"));
  write_file(images, idx({5, 28, 27}, ""));
  EXPECT_EQ(opened(), "data: " + images + ": offset 12: dimension 2 is 27, wanted 28");
  write_file(images, idx({0, 28, 28}, ""));
  EXPECT_THAT(opened(), HasSubstr("offset 4: dimension 0 is 0, wanted 1 to "));
  write_file(images, idx({0xffffffff, 28, 28}, ""));
  EXPECT_THAT(opened(), HasSubstr("offset 4: dimension 0 is 4294967295, wanted 1 to "));
  write_file(images, idx({5}, "abcdefghijkl"));
  EXPECT_THAT(opened(), HasSubstr(images + ": offset 0: magic number is 2049, an IDX file of 3 dimensions has 2051"));
  write_file(images, "ab");
  EXPECT_EQ(opened(), "data: " + images + ": offset 2: the file ends inside the header");
  write_file(images, good_images.substr(0, 40));
  EXPECT_EQ(opened(), "data: " + images + ": offset 40: the gzip data is cut short");
  std::filesystem::remove(images);
  EXPECT_THAT(opened(),
              testing::AllOf(HasSubstr("'" + images + "' does not exist"), HasSubstr("dataset-fashion-mnist")));
}

TEST(FashionMnist, TheRealDataSetHasItsSizesAndMoments) {
  const FashionMnistKind kind;
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist")) {
    GTEST_SKIP() << "needs the Debian package dataset-fashion-mnist";
  }
  const auto dataset = kind.open(0);
  ASSERT_EQ(dataset->size(Split::train), 60'000);
  ASSERT_EQ(dataset->size(Split::eval), 10'000);
  double sum = 0, squares = 0;
  std::vector<int> per_class(10);
  constexpr int kSamples = 6000;
  for (int i = 0; i < kSamples; ++i) {
    const Sample sample = read(*dataset, Split::train, i * 10);
    for (const float x : sample.image) sum += x, squares += double{x} * x;
    ++per_class.at(static_cast<size_t>(sample.label));
  }
  const double n = double{kSamples} * kPixels;
  EXPECT_NEAR(sum / n, 0.0, 0.02);
  EXPECT_NEAR(std::sqrt(squares / n), 1.0, 0.02);
  for (const int count : per_class) EXPECT_NEAR(count, kSamples / 10, 100);
}

}  // namespace
}  // namespace tidemark::data
