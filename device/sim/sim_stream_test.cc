#include "device/sim/sim_stream.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <vector>

#include "base/error.h"
#include "device/sim/sim_memory.h"
#include "device/sim/sim_test_name.h"

namespace tidemark {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr uint64_t kSeeds = 20;

TEST(SimStream, WorkIsLateAndDoneAfterAWait) {
  SimQueues queues(1);
  const std::unique_ptr<Stream> stream = queues.make_stream();
  std::array<uint8_t, 4> bytes = {};
  stream->fill(bytes.data(), 9, 4);
  EXPECT_EQ(bytes[0], 0);
  EXPECT_EQ(queues.pending(), 1);
  stream->synchronize();
  EXPECT_EQ(bytes, (std::array<uint8_t, 4>{9, 9, 9, 9}));
  EXPECT_EQ(queues.pending(), 0);
}

TEST(SimStream, WorkOfOneStreamKeepsItsOrder) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    SimQueues queues(seed);
    const std::unique_ptr<Stream> stream = queues.make_stream();
    uint8_t value = 0, copied = 0;
    stream->fill(&value, 1, 1);
    stream->copy(&copied, &value, 1);
    stream->fill(&value, 2, 1);
    stream->synchronize();
    EXPECT_EQ(copied, 1) << seed;
    EXPECT_EQ(value, 2) << seed;
  }
}

TEST(SimStream, WaitRunsNoMoreThanItNeeds) {
  SimQueues queues(3);
  const std::unique_ptr<Stream> stream = queues.make_stream();
  const std::unique_ptr<Event> event = stream->make_event();
  uint8_t before = 0, after = 0;
  EXPECT_TRUE(event->done()) << "never recorded";
  stream->fill(&before, 1, 1);
  stream->record(*event);
  stream->fill(&after, 1, 1);
  event->wait();
  EXPECT_TRUE(event->done());
  EXPECT_EQ(before, 1);
  EXPECT_EQ(after, 0);
}

TEST(SimStream, AskingOftenEnoughLetsWorkRun) {
  SimQueues queues(5);
  const std::unique_ptr<Stream> stream = queues.make_stream();
  const std::unique_ptr<Event> event = stream->make_event();
  uint8_t value = 0;
  for (int i = 0; i < 5; ++i) stream->fill(&value, 7, 1);
  stream->record(*event);
  int asked = 0;
  while (!event->done()) ++asked;
  EXPECT_EQ(asked, 6);
  EXPECT_EQ(value, 7);
}

// What two streams make of one buffer, without and with an event between them.
std::vector<uint8_t> read_on_another_stream(uint64_t seed, bool with_event) {
  SimQueues queues(seed);
  const std::unique_ptr<Stream> writer = queues.make_stream(), reader = queues.make_stream();
  const std::unique_ptr<Event> written = writer->make_event();
  std::vector<uint8_t> buffer(8, SimMemory::kPoison), seen(8, 0);
  for (size_t i = 0; i < 8; ++i) writer->fill(&buffer[i], static_cast<uint8_t>(i), 1);
  writer->record(*written);
  if (with_event) reader->wait_for(*written);
  for (size_t i = 0; i < 8; ++i) reader->copy(&seen[i], &buffer[i], 1);
  reader->synchronize();
  return seen;
}

TEST(SimStream, MissingWaitIsSeenAndAWaitMendsIt) {
  const std::vector<uint8_t> right = {0, 1, 2, 3, 4, 5, 6, 7};
  int wrong = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    wrong += read_on_another_stream(seed, false) != right;
    EXPECT_EQ(read_on_another_stream(seed, true), right) << "seed " << seed;
  }
  EXPECT_GE(wrong, static_cast<int>(kSeeds) * 3 / 4);
}

TEST(SimStream, OrderIsThatOfTheSeed) {
  std::set<std::vector<uint8_t>> orders;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<uint8_t> order = read_on_another_stream(seed, false);
    EXPECT_EQ(read_on_another_stream(seed, false), order) << "seed " << seed;
    orders.insert(order);
  }
  EXPECT_GT(orders.size(), 5u);
}

TEST(SimStream, WorkOfAStreamThatIsGoneIsDoneWhereSomebodyWaitsForIt) {
  SimQueues queues(4);
  uint8_t value = 0;
  std::unique_ptr<Event> event;
  {
    const std::unique_ptr<Stream> stream = queues.make_stream();
    event = stream->make_event();
    stream->fill(&value, 6, 1);
    stream->record(*event);
  }
  const std::unique_ptr<Stream> next = queues.make_stream();
  next->synchronize();
  event->wait();
  EXPECT_EQ(value, 6);
  EXPECT_EQ(queues.pending(), 0);
}

TEST(SimStream, WaitIsForTheRecordThatWasThere) {
  SimQueues queues(2);
  const std::unique_ptr<Stream> one = queues.make_stream(), two = queues.make_stream();
  const std::unique_ptr<Event> event = one->make_event();
  uint8_t first = 0, second = 0, seen = 0;
  one->fill(&first, 1, 1);
  one->record(*event);
  two->wait_for(*event);
  two->copy(&seen, &first, 1);
  one->fill(&second, 1, 1);
  one->record(*event);
  two->synchronize();
  EXPECT_EQ(seen, 1);
  event->wait();
  EXPECT_EQ(second, 1);
}

class SimStreamOnMemory : public testing::Test {
 protected:
  SimMemory memory_{sim_test_name("stream"), 8 * kMiB};
  SimQueues queues_{11, &memory_.access()};
  const std::unique_ptr<Stream> stream_ = queues_.make_stream();
  VirtualRange range_ = memory_.reserve(4 * kMiB);
};

void expect_lost_pages(Stream& stream) {
  try {
    stream.synchronize();
    FAIL() << "work ran on addresses without pages";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_NE(std::string(e.what()).find("have no pages any more"), std::string::npos) << e.what();
  }
}

TEST_F(SimStreamOnMemory, PagesGivenBackBeforeTheWorkRanAreAnError) {
  uint8_t host = 0;
  range_.commit(0, 2 * kMiB);
  stream_->fill(range_.data(), 5, 2 * kMiB);
  stream_->copy(&host, range_.data() + kMiB, 1);
  range_.decommit(0, 2 * kMiB);
  expect_lost_pages(*stream_);
  expect_lost_pages(*stream_);
  EXPECT_EQ(host, 0);
}

TEST_F(SimStreamOnMemory, UnmappedBeforeTheWorkRanIsAnError) {
  std::vector<PageId> pages(2);
  memory_.create_pages(pages);
  range_.map(0, pages);
  stream_->fill(range_.data() + kMiB, 5, 2 * kMiB);
  range_.unmap(2 * kMiB, 2 * kMiB);
  expect_lost_pages(*stream_);
}

TEST_F(SimStreamOnMemory, WaitBeforeGivingBackIsRight) {
  uint8_t host = 0;
  range_.commit(0, 2 * kMiB);
  stream_->fill(range_.data(), 5, 2 * kMiB);
  stream_->copy(&host, range_.data() + kMiB, 1);
  stream_->synchronize();
  range_.decommit(0, 2 * kMiB);
  stream_->synchronize();
  EXPECT_EQ(host, 5);
}

}  // namespace
}  // namespace tidemark
