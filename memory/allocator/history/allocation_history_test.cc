#include "memory/allocator/history/allocation_history.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/allocator/testing/unbacked_device.h"

namespace tidemark::memory {

// Not inlined and not static: stacks are to show them.
[[gnu::noinline]] std::byte* take_for_the_encoder(Allocator& allocator) {
  std::byte* data = allocator.allocate({1000, Category::activations});
  asm volatile("" ::: "memory");  // no tail call
  return data;
}
[[gnu::noinline]] std::byte* take_for_the_decoder(Allocator& allocator) {
  std::byte* data = allocator.allocate({int64_t{3} << 20, Category::kv_cache});
  asm volatile("" ::: "memory");
  return data;
}

namespace {

using Json = nlohmann::json;

AllocatorOptions with_history(bool stacks, int64_t events) {
  AllocatorOptions options;
  options.history = {stacks, events};
  return options;
}

bool mentions(const std::vector<std::string>& stack, const std::string& function) {
  for (const std::string& line : stack) {
    if (line.find(function) != std::string::npos) return true;
  }
  return false;
}

class AllocationHistoryTest : public testing::Test {
 protected:
  UnbackedDevice device_{int64_t{32} << 20};
  PagePool pool_{device_};
};

TEST_F(AllocationHistoryTest, SnapshotSaysWhereLiveBlocksWereTaken) {
  CachingAllocator allocator(pool_, with_history(true, 0));
  std::byte* encoder = take_for_the_encoder(allocator);
  std::byte* decoder = take_for_the_decoder(allocator);
  allocator.deallocate(take_for_the_encoder(allocator));
  const MemorySnapshot snapshot = allocator.snapshot();
  ASSERT_EQ(snapshot.blocks.size(), 2u);
  EXPECT_EQ(snapshot.blocks[0].address, reinterpret_cast<uint64_t>(encoder));
  EXPECT_EQ(snapshot.blocks[0].bytes, 1000);
  EXPECT_EQ(snapshot.blocks[1].category, Category::kv_cache);
  const auto& stack = snapshot.stacks[static_cast<size_t>(snapshot.blocks[1].stack)];
  EXPECT_TRUE(mentions(stack, "take_for_the_decoder")) << testing::PrintToString(stack);
  EXPECT_FALSE(mentions(stack, "take_for_the_encoder"));
  // A sanitizer adds a frame or two.
  const std::vector<std::string> innermost(stack.begin(),
                                           stack.begin() + std::min<std::ptrdiff_t>(3, std::ssize(stack)));
  EXPECT_TRUE(mentions(innermost, "take_for_the_decoder")) << "the allocator's own frames are shown";
  EXPECT_EQ(snapshot.stats.live_blocks, 2);
  EXPECT_TRUE(snapshot.events.empty());
  allocator.deallocate(encoder);
  allocator.deallocate(decoder);
}

TEST_F(AllocationHistoryTest, WithoutHistoryASnapshotHasBlocksAlone) {
  CachingAllocator allocator(pool_);
  std::byte* block = take_for_the_encoder(allocator);
  const MemorySnapshot snapshot = allocator.snapshot();
  ASSERT_EQ(snapshot.blocks.size(), 1u);
  EXPECT_EQ(snapshot.blocks[0].stack, -1);
  EXPECT_TRUE(snapshot.stacks.empty());
  allocator.deallocate(block);
}

TEST_F(AllocationHistoryTest, RingKeepsTheLatestEventsInOrder) {
  CachingAllocator allocator(pool_, with_history(false, 4));
  for (int64_t i = 1; i <= 5; ++i) allocator.deallocate(allocator.allocate({i * 100}));
  allocator.trim(0);
  EXPECT_THROW(allocator.allocate({int64_t{64} << 20}), Error);
  const MemorySnapshot snapshot = allocator.snapshot();
  ASSERT_EQ(snapshot.events.size(), 4u);
  EXPECT_EQ(snapshot.dropped_events, 8);
  EXPECT_EQ(snapshot.events[0].kind, MemoryEvent::Kind::allocated);
  EXPECT_EQ(snapshot.events[0].block.bytes, 500);
  EXPECT_EQ(snapshot.events[1].kind, MemoryEvent::Kind::freed);
  EXPECT_EQ(snapshot.events[1].block.bytes, 500);
  EXPECT_EQ(snapshot.events[2].kind, MemoryEvent::Kind::trimmed);
  EXPECT_EQ(snapshot.events[2].block.bytes, int64_t{2} << 20);
  EXPECT_EQ(snapshot.events[3].kind, MemoryEvent::Kind::refused);
  EXPECT_EQ(snapshot.events[3].block.bytes, int64_t{64} << 20);
}

TEST_F(AllocationHistoryTest, JsonHasEverything) {
  CachingAllocator allocator(pool_, with_history(true, 100));
  std::byte* held = take_for_the_decoder(allocator);
  allocator.deallocate(take_for_the_encoder(allocator));
  const Json json = Json::parse(to_json(allocator.snapshot()));
  EXPECT_EQ(json["stats"]["allocated_by_category"]["kv_cache"], 3 << 20);
  EXPECT_EQ(json["stats"]["reserved_bytes"], 6 << 20);
  ASSERT_EQ(json["blocks"].size(), 1u);
  EXPECT_EQ(json["blocks"][0]["category"], "kv_cache");
  ASSERT_EQ(json["events"].size(), 3u);
  EXPECT_EQ(json["events"][1]["event"], "allocated");
  EXPECT_EQ(json["events"][2]["event"], "freed");
  const size_t stack = json["blocks"][0]["stack"];
  EXPECT_TRUE(mentions(json["stacks"][stack], "take_for_the_decoder"));
  allocator.deallocate(held);
}

TEST_F(AllocationHistoryTest, ChromeTraceBeginsWithWhatWasThereBefore) {
  CachingAllocator allocator(pool_, with_history(false, 1));
  std::byte* block = allocator.allocate({2048, Category::weights});
  allocator.deallocate(block);
  const Json trace = Json::parse(to_chrome_trace(allocator.snapshot()));
  ASSERT_EQ(trace["traceEvents"].size(), 4u);
  EXPECT_EQ(trace["traceEvents"][0]["ph"], "b");
  EXPECT_EQ(trace["traceEvents"][1]["args"]["weights"], 2048);
  EXPECT_EQ(trace["traceEvents"][2]["ph"], "e");
  EXPECT_EQ(trace["traceEvents"][3]["args"]["weights"], 0);
}

TEST_F(AllocationHistoryTest, ChromeTraceCountsWhatIsLiveAndClosesItsSlices) {
  CachingAllocator allocator(pool_, with_history(true, 3));
  std::byte* early = allocator.allocate({2048, Category::weights});
  std::byte* first = take_for_the_encoder(allocator);
  std::byte* second = take_for_the_decoder(allocator);
  allocator.deallocate(first);
  const Json trace = Json::parse(to_chrome_trace(allocator.snapshot()));
  std::map<std::string, std::string> open;
  Json counters;
  for (const Json& event : trace["traceEvents"]) {
    if (event["ph"] == "b") open[event["id"]] = event["name"];
    ASSERT_TRUE(event["ph"] != "e" || open.erase(event["id"]) == 1) << "ends without a beginning";
    if (event["ph"] == "C") counters.push_back(event["args"]);
  }
  ASSERT_EQ(counters.size(), 4u);
  EXPECT_EQ(counters[0]["weights"], 2048) << "live before the first kept event";
  EXPECT_EQ(counters[0]["activations"], 0);
  EXPECT_EQ(counters[1]["activations"], 1000);
  EXPECT_EQ(counters[2]["kv_cache"], 3 << 20);
  EXPECT_EQ(counters[3]["activations"], 0);
  EXPECT_EQ(counters[3]["weights"], 2048);
  EXPECT_EQ(open.size(), 2u) << "what is live at the end stays open";
  allocator.deallocate(early);
  allocator.deallocate(second);
}

TEST_F(AllocationHistoryTest, LeaksAreListedWithTheirPlaces) {
  testing::internal::CaptureStderr();
  {
    CachingAllocator allocator(pool_, with_history(true, 0));
    volatile int times = 3;  // one place, not an unrolled loop's three
    while (times > 0) {
      take_for_the_decoder(allocator);
      times = times - 1;
    }
    take_for_the_encoder(allocator);
    allocator.deallocate(take_for_the_encoder(allocator));
  }
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("event=memory_leaked device=unbacked category=kv_cache blocks=3 bytes=9437184"), std::string::npos)
      << log;
  EXPECT_NE(log.find("category=activations blocks=1 bytes=1000"), std::string::npos) << log;
  EXPECT_NE(log.find("take_for_the_decoder"), std::string::npos) << log;
  EXPECT_EQ(device_.committed_bytes(), 0) << "leaked pages stay with the device";
}

}  // namespace
}  // namespace tidemark::memory
