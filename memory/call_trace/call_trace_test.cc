#include "memory/call_trace/call_trace.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <sstream>

#include "base/error.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "memory/call_trace/recording_allocator.h"

namespace tidemark::memory {
namespace {

std::string refusal(const std::string& lines) {
  std::istringstream in("call,id,bytes,category\n" + lines);
  try {
    read_call_trace(in, "t.csv");
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::data);
    return e.what();
  }
  return "";
}

TEST(CallTrace, WrittenAndReadIsTheSame) {
  const CallTrace trace{
      "t", {{0, 100, Category::weights}, {1, 5, Category::kv_cache}, {0, 0, Category::user}, {0, 7, Category::user}}};
  std::stringstream text;
  write_call_trace(trace, text);
  EXPECT_EQ(read_call_trace(text, "t").calls, trace.calls);
}

TEST(CallTrace, BrokenLinesAreNamed) {
  EXPECT_EQ(refusal("alloc,1,5\n"), "t.csv:2: has too few cells: 'alloc,1,5'");
  EXPECT_EQ(refusal("alloc,1,5,user\nalloc,2,-5,user\n"), "t.csv:3: column 'bytes' is not above 0: '-5'");
  EXPECT_EQ(refusal("alloc,1,0,user\n"), "t.csv:2: column 'bytes' is not above 0: '0'");
  EXPECT_EQ(refusal("alloc,x,5,user\n"), "t.csv:2: column 'id' is no number: 'x'");
  EXPECT_EQ(refusal("alloc,1,99999999999999999999,user\n"),
            "t.csv:2: column 'bytes' is no number: '99999999999999999999'");
  EXPECT_EQ(refusal("alloc,1,5,gold\n"), "t.csv:2: column 'category' is unknown: 'gold'");
  EXPECT_EQ(refusal("move,1,5,user\n"), "t.csv:2: column 'call' is neither alloc nor free: 'move'");
  EXPECT_EQ(refusal("alloc,1,5,user\nalloc,1,5,user\n"), "t.csv:3: allocates an id that is live: 'alloc,1,5,user'");
  EXPECT_EQ(refusal("free,1,,\n"), "t.csv:2: frees an id that is not live: 'free,1,,'");
  EXPECT_EQ(refusal(""), "t.csv: there are no calls in it");
  std::istringstream headless("alloc,1,5,user\n");
  EXPECT_THROW(read_call_trace(headless, "t"), Error);
}

// Memory of the C library, with a refusal on request.
class Malloc final : public Allocator {
 public:
  std::byte* allocate(const AllocationRequest& request) override {
    if (request.bytes > 1000) throw Error(ErrorCode::out_of_memory, "too large");
    return static_cast<std::byte*>(std::malloc(static_cast<size_t>(request.bytes)));
  }
  void deallocate(std::byte* address) override { std::free(address); }
  void record_use(std::byte*, Stream&) override {}
  AllocatorStats stats() const override { return {}; }
  void reset_peaks() override {}
  int64_t trim(int64_t) override { return 0; }
};

TEST(RecordingAllocator, WritesDownWhatSucceeded) {
  Malloc inner;
  RecordingAllocator recorder(inner, "run");
  std::byte* first = recorder.allocate({.bytes = 10, .category = Category::weights});
  EXPECT_THROW(recorder.allocate({.bytes = 2000}), Error);
  std::byte* second = recorder.allocate({.bytes = 20});
  recorder.deallocate(first);
  recorder.deallocate(second);
  const std::vector<AllocatorCall> expected = {
      {0, 10, Category::weights}, {1, 20, Category::user}, {0, 0, Category::user}, {1, 0, Category::user}};
  EXPECT_EQ(recorder.trace().calls, expected);
  EXPECT_EQ(recorder.trace().name, "run");
}

// As an allocator does that asks somebody for memory before it refuses.
class MallocThatAsks final : public AllocatorDecorator {
 public:
  using AllocatorDecorator::AllocatorDecorator;
  std::byte* allocate(const AllocationRequest& request) override {
    if (ask) ask();
    return upstream().allocate(request);
  }
  std::function<void()> ask;
};

TEST(RecordingAllocator, BlocksGoBackInsideOfARequest) {
  Malloc bottom;
  MallocThatAsks inner(bottom);
  RecordingAllocator recorder(inner, "run");
  std::byte* cached = recorder.allocate({.bytes = 10});
  inner.ask = [&] { recorder.deallocate(cached); };
  std::byte* wanted = recorder.allocate({.bytes = 20});
  const std::vector<AllocatorCall> expected = {
      {0, 10, Category::user}, {0, 0, Category::user}, {1, 20, Category::user}};
  EXPECT_EQ(recorder.trace().calls, expected);
  recorder.deallocate(wanted);
}

}  // namespace
}  // namespace tidemark::memory
