#include "framework/data/batch_reader.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "framework/data/loader.h"

namespace tidemark::data {
namespace {

// Sample i has the rows 100 i, 100 i + 1, ... as `a` and their negatives as `b`, and counts its length as targets.
class Lines : public Dataset {
 public:
  explicit Lines(std::vector<int64_t> lengths) : lengths_(std::move(lengths)) {
    info_ = {.fields = {{"a", {DType::i32, {}}, true}, {"lengths", {DType::i32, {}}}, {"b", {DType::f32, {2}}, true}},
             .classes = 1,
             .kind = "lines",
             .packed = true};
  }
  const DataInfo& info() const override { return info_; }
  int64_t size(Split) const override { return static_cast<int64_t>(lengths_.size()); }
  int64_t length(Split, int64_t index) const override { return lengths_[static_cast<size_t>(index)]; }
  int64_t targets(Split split, int64_t index) const override { return length(split, index); }
  void read(Split split, int64_t index, std::span<std::byte* const> destinations) const override {
    const auto length = static_cast<int32_t>(this->length(split, index));
    for (int32_t i = 0; i < length; ++i) {
      const int32_t a = static_cast<int32_t>(index) * 100 + i;
      const float b[] = {static_cast<float>(-a), 0.5f};
      std::memcpy(destinations[0] + i * 4, &a, 4);
      std::memcpy(destinations[2] + i * 8, b, 8);
    }
    std::memcpy(destinations[1], &length, 4);
  }

 private:
  std::vector<int64_t> lengths_;
  DataInfo info_;
};

template <class T>
std::vector<T> values(const HostBatch& batch, size_t field, int64_t count) {
  std::vector<T> result(static_cast<size_t>(count));
  std::memcpy(result.data(), batch.fields[field].data(), result.size() * sizeof(T));
  return result;
}

using Ints = std::vector<int32_t>;
using Parts = std::vector<PackedPart>;

TEST(BatchReader, PacksTimeMajorLongestFirst) {
  const Lines data({2, 1, 3, 2});
  BatchReader reader(data, Split::train, 4, 0);
  HostBatch batch = reader.make_batch();
  const uint32_t indices[] = {0, 1, 2, 3};
  reader.read(indices, batch);
  EXPECT_EQ(batch.samples, 4);
  EXPECT_EQ(batch.rows, 8);
  EXPECT_EQ(batch.targets, 8);
  EXPECT_EQ(batch.parts, (Parts{{0, 4, 0, 8}}));
  EXPECT_EQ(batch.sample_ids, (std::vector<int32_t>{2, 0, 3, 1})) << "equal lengths keep their order";
  EXPECT_EQ(values<int32_t>(batch, 0, 8), (Ints{200, 0, 300, 100, 201, 1, 301, 202}));
  EXPECT_EQ(values<int32_t>(batch, 1, 4), (Ints{3, 2, 2, 1}));
  const std::vector<float> b = values<float>(batch, 2, 16);
  EXPECT_EQ(b[2 * 4], -201.0f);
  EXPECT_EQ(b[2 * 7], -202.0f);
  EXPECT_EQ(b[2 * 7 + 1], 0.5f);
}

TEST(BatchReader, EachMicroBatchIsPackedOnItsOwn) {
  const Lines data({1, 2, 3, 1, 4});
  BatchReader reader(data, Split::train, 5, 2);
  HostBatch batch = reader.make_batch();
  const uint32_t indices[] = {0, 1, 2, 3, 4};
  reader.read(indices, batch);
  EXPECT_EQ(batch.parts, (Parts{{0, 2, 0, 3}, {2, 2, 3, 4}, {4, 1, 7, 4}}));
  EXPECT_EQ(batch.sample_ids, (std::vector<int32_t>{1, 0, 2, 3, 4}));
  EXPECT_EQ(values<int32_t>(batch, 0, 11), (Ints{100, 0, 101, 200, 300, 201, 202, 400, 401, 402, 403}));
}

TEST(BatchReader, HasMemoryForTheLongestSamplesAndLeavesNothingBehind) {
  const Lines data({5, 1, 4, 1, 2});
  EXPECT_EQ(most_rows(data, Split::train, 2), 9);
  EXPECT_EQ(most_rows(data, Split::train, 100), 13);
  BatchReader reader(data, Split::train, 2, 0);
  HostBatch batch = reader.make_batch();
  ASSERT_EQ(batch.fields[0].size(), 9U * 4);
  const std::byte* const address = batch.fields[0].data();
  const uint32_t longest[] = {2, 0}, shortest[] = {3};
  reader.read(longest, batch);
  EXPECT_EQ(batch.rows, 9);
  reader.read(shortest, batch);
  EXPECT_EQ(batch.rows, 1);
  EXPECT_EQ(values<int32_t>(batch, 0, 9), (Ints{300, 0, 0, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(values<int32_t>(batch, 1, 2), (Ints{1, 0}));
  EXPECT_EQ(batch.fields[0].data(), address);
}

TEST(BatchReader, PackedLoadersResumeWithTheSameRows) {
  std::vector<int64_t> lengths(17);
  std::iota(lengths.begin(), lengths.end(), 1);
  const Lines data(lengths);
  const Loader::Options options{.global_batch = 5, .micro_batch = 2, .seed = 7};
  Loader whole(data, options);
  int64_t rows = 0;
  for (int i = 0; i < 9; ++i) {
    const HostBatch& batch = whole.next();
    if (i < 4) rows += batch.rows;
    Loader resumed(data, options, batch.begin);
    const HostBatch& again = resumed.next();
    EXPECT_EQ(again.fields, batch.fields);
    EXPECT_EQ(again.parts, batch.parts);
    EXPECT_EQ(again.sample_ids, batch.sample_ids);
  }
  EXPECT_EQ(rows, std::accumulate(lengths.begin(), lengths.end(), int64_t{0})) << "every row once an epoch, no padding";
}

}  // namespace
}  // namespace tidemark::data
