#include "framework/data/loader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <set>
#include <thread>

#include "base/error.h"
#include "framework/data/sample_order.h"

namespace tidemark::data {
namespace {

// Sample i is the two integers {i, 1000 + i} in two fields and counts i + 1 targets.
class Numbers : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t fails_at = -1) : size_(size), fails_at_(fails_at) {
    info_ = {.fields = {{"a", {DType::i32, {1}}}, {"b", {DType::i32, {1}}}}, .classes = 1, .kind = "numbers"};
  }
  const DataInfo& info() const override { return info_; }
  int64_t size(Split) const override { return size_; }
  int64_t targets(Split, int64_t index) const override { return index + 1; }
  void read(Split, int64_t index, std::span<std::byte* const> destinations) const override {
    ++reads;
    if (index == fails_at_) throw Error(ErrorCode::data, "sample cannot be read");
    const auto a = static_cast<int32_t>(index);
    const int32_t b = 1000 + a;
    std::memcpy(destinations[0], &a, 4);
    std::memcpy(destinations[1], &b, 4);
  }

  mutable std::atomic<int64_t> reads{0};

 private:
  int64_t size_;
  int64_t fails_at_;
  DataInfo info_;
};

std::vector<int32_t> rows(const HostBatch& batch, size_t field, int64_t count) {
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::memcpy(values.data(), batch.fields[field].data(), values.size() * 4);
  return values;
}

Loader::Options options(int64_t batch) { return {.global_batch = batch, .seed = 3}; }

TEST(SampleOrder, IsAPermutationThatHangsOnSeedAndEpoch) {
  for (const size_t size : {1u, 2u, 3u, 1000u}) {
    std::vector<uint32_t> order(size);
    shuffle_order(1, 0, order);
    std::vector<uint32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(sorted[i], i);
  }
  std::vector<uint32_t> base(100), again(100), seed(100), epoch(100), far(100);
  shuffle_order(1, 0, base);
  shuffle_order(1, 0, again);
  shuffle_order(2, 0, seed);
  shuffle_order(1, 1, epoch);
  shuffle_order(1, int64_t{1} << 32, far);
  EXPECT_EQ(base, again);
  EXPECT_NE(base, seed);
  EXPECT_NE(base, epoch);
  EXPECT_NE(base, far);
}

TEST(SampleOrder, EveryPlaceIsEquallyLikely) {
  std::vector<int> first(5);
  std::vector<uint32_t> order(5);
  constexpr int kEpochs = 5000;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    shuffle_order(9, epoch, order);
    ++first[order[0]];
  }
  for (const int count : first) EXPECT_NEAR(count, kEpochs / 5, 150);  // over five standard deviations
}

TEST(SampleOrder, StaysTheSameForEver) {  // else old checkpoints would resume with other samples
  std::vector<uint32_t> order(8);
  shuffle_order(1, 0, order);
  EXPECT_EQ(order, (std::vector<uint32_t>{0, 1, 6, 3, 4, 7, 2, 5}));
}

TEST(Loader, AnEpochHasEverySampleOnceAndEndsWithASmallerBatch) {
  const Numbers data(10);
  Loader loader(data, options(4));
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  for (int epoch = 0; epoch < 3; ++epoch) {
    std::set<int32_t> seen;
    for (const int64_t wanted : {4, 4, 2}) {
      const HostBatch& batch = loader.next();
      EXPECT_EQ(batch.samples, wanted);
      EXPECT_EQ(batch.begin.epoch, epoch);
      const auto a = rows(batch, 0, wanted);
      const auto b = rows(batch, 1, wanted);
      int64_t targets = 0;
      for (size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(b[i], 1000 + a[i]);
        targets += a[i] + 1;
        seen.insert(a[i]);
      }
      EXPECT_EQ(batch.targets, targets);
    }
    EXPECT_EQ(seen.size(), 10u);
  }
}

TEST(Loader, RowsPastTheLastSampleAreZero) {
  const Numbers data(6);
  Loader loader(data, {.global_batch = 4, .shuffle = false});
  for (int i = 0; i < 6; ++i) {
    const HostBatch& batch = loader.next();
    if (batch.samples == 4) continue;
    EXPECT_EQ(rows(batch, 1, 4), (std::vector<int32_t>{1004, 1005, 0, 0}));
  }
}

TEST(Loader, UnpackedBatchesHavePartsAndIdsInOrder) {
  const Numbers data(6);
  Loader loader(data, {.global_batch = 5, .micro_batch = 2});
  const HostBatch& batch = loader.next();
  EXPECT_EQ(batch.parts, (std::vector<PackedPart>{{0, 2, 0, 0}, {2, 2, 0, 0}, {4, 1, 0, 0}}));
  EXPECT_EQ(batch.sample_ids, (std::vector<int32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(batch.rows, 0);
  EXPECT_EQ(loader.next().parts, (std::vector<PackedPart>{{0, 1, 0, 0}}));
}

TEST(Loader, WithoutShufflingTheOrderIsThatOfTheIndices) {
  const Numbers data(5);
  Loader loader(data, {.global_batch = 5, .shuffle = false});
  for (int epoch = 0; epoch < 2; ++epoch) EXPECT_EQ(rows(loader.next(), 0, 5), (std::vector<int32_t>{0, 1, 2, 3, 4}));
}

TEST(Loader, ResumesAtAnyBatchWithTheSameSamples) {
  const Numbers data(10);
  std::vector<SamplerPosition> begins;
  std::vector<std::vector<int32_t>> batches;
  Loader whole(data, options(4));
  for (int i = 0; i < 8; ++i) {
    const HostBatch& batch = whole.next();
    if (i == 0) begins.push_back(batch.begin);
    EXPECT_EQ(batch.begin, begins.back());
    begins.push_back(batch.end);
    batches.push_back(rows(batch, 0, batch.samples));
  }
  for (size_t from = 0; from < 8; ++from) {
    Loader resumed(data, options(4), begins[from]);
    for (size_t i = from; i < 8; ++i) {
      const HostBatch& batch = resumed.next();
      EXPECT_EQ(batch.begin, begins[i]);
      EXPECT_EQ(rows(batch, 0, batch.samples), batches[i]) << "batch " << i << " from " << from;
    }
  }
}

TEST(Loader, ABatchIsNotTouchedUntilTheNextIsAskedFor) {
  const Numbers data(1000);
  Loader loader(data, options(10));
  for (int i = 0; i < 20; ++i) {
    const HostBatch& batch = loader.next();
    const auto before = batch.fields;
    const int64_t target = (i + 3) * 10;  // this one and two read ahead
    while (data.reads < target) std::this_thread::yield();
    EXPECT_EQ(batch.fields, before);
  }
}

TEST(Loader, ReadsAheadNoFurtherThanAsked) {
  const Numbers data(1000);
  Loader loader(data, {.global_batch = 10, .prefetch = 3});
  loader.next();
  while (data.reads < 40) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(data.reads, 40);
}

TEST(Loader, ErrorsOfReadingComeOutOfNextAfterTheGoodBatches) {
  const Numbers data(10, 7);
  Loader loader(data, {.global_batch = 3, .shuffle = false});
  EXPECT_EQ(loader.next().samples, 3);
  EXPECT_EQ(loader.next().samples, 3);
  EXPECT_THROW(loader.next(), Error);
  EXPECT_THROW(loader.next(), Error);
}

TEST(Loader, PositionsOutsideTheDataAreRefused) {
  const Numbers data(10);
  EXPECT_THROW(Loader(data, options(2), {0, 11}), Error);
  EXPECT_THROW(Loader(data, options(2), {-1, 0}), Error);
  Loader at_end(data, options(2), {0, 10});
  EXPECT_EQ(at_end.next().begin, (SamplerPosition{1, 0}));
}

TEST(Loader, CanBeDroppedWhileItReads) {
  const Numbers data(1000);
  for (int i = 0; i < 100; ++i) Loader loader(data, options(100));
  Loader after(data, options(100));
  EXPECT_EQ(after.next().samples, 100) << "the readers that were dropped left nothing behind";
}

}  // namespace
}  // namespace tidemark::data
