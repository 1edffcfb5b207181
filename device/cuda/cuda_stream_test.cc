#include "device/cuda/cuda_stream.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"

namespace tidemark {
namespace {

// A driver whose streams work at once but whose events stay undone until the test says so.
struct Fake {
  std::vector<std::string> calls;
  bool work_is_done = true;
  CUresult next = CUDA_SUCCESS;  // of the next call
  int events = 0;
  int contexts = 0;
  CUstream last_stream = nullptr;
};
Fake* fake = nullptr;
thread_local bool has_context = false;

CUresult enter(const char* name) {
  fake->calls.emplace_back(name);
  return std::exchange(fake->next, CUDA_SUCCESS);
}

CudaStreamCalls table() {
  CudaStreamCalls t;
  t.get_error_string = [](CUresult, const char** text) {
    *text = "fake error";
    return CUDA_SUCCESS;
  };
  t.device_get = [](CUdevice* device, int ordinal) {
    *device = ordinal;
    return enter("get");
  };
  t.primary_context_retain = [](CUcontext* context, CUdevice) {
    *context = reinterpret_cast<CUcontext>(fake);
    ++fake->contexts;
    return enter("retain");
  };
  t.primary_context_release = [](CUdevice) {
    --fake->contexts;
    return enter("release");
  };
  t.context_set_current = [](CUcontext context) {
    has_context = context == reinterpret_cast<CUcontext>(fake);
    return has_context ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  };
  t.event_create = [](CUevent* event, unsigned flags) {
    *event = reinterpret_cast<CUevent>(fake);
    ++fake->events;
    return flags == CU_EVENT_DISABLE_TIMING ? enter("event") : CUDA_ERROR_INVALID_VALUE;
  };
  t.event_destroy = [](CUevent) {
    if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
    --fake->events;
    return CUDA_SUCCESS;
  };
  t.event_record = [](CUevent, CUstream stream) {
    fake->last_stream = stream;
    return enter("record");
  };
  t.event_query = [](CUevent) {
    if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
    const CUresult result = enter("query");
    if (result != CUDA_SUCCESS) return result;
    return fake->work_is_done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  };
  t.event_synchronize = [](CUevent) {
    if (!has_context) return CUDA_ERROR_INVALID_CONTEXT;
    fake->work_is_done = true;
    return enter("wait");
  };
  t.stream_wait_event = [](CUstream, CUevent, unsigned) { return enter("wait_for"); };
  t.stream_synchronize = [](CUstream) { return enter("synchronize"); };
  t.copy = [](CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream) {
    std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
    return enter("copy");
  };
  t.fill = [](CUdeviceptr to, unsigned char value, size_t bytes, CUstream) {
    std::memset(reinterpret_cast<void*>(to), value, bytes);
    return enter("fill");
  };
  return t;
}

class CudaStreamTest : public testing::Test {
 protected:
  CudaStreamTest() { fake = &fake_; }
  ~CudaStreamTest() override { fake = nullptr; }
  Fake fake_;
};

TEST_F(CudaStreamTest, AnEventIsDoneWhenTheDriverSaysSo) {
  CudaStream stream(table(), 0, reinterpret_cast<CUstream>(0x40));
  const std::unique_ptr<Event> event = stream.make_event();
  fake_.work_is_done = false;
  stream.record(*event);
  EXPECT_EQ(fake_.last_stream, reinterpret_cast<CUstream>(0x40));
  EXPECT_FALSE(event->done());
  event->wait();
  EXPECT_TRUE(event->done());
}

TEST_F(CudaStreamTest, AnyThreadMayAskAnEvent) {
  CudaStream stream(table(), 0, nullptr);
  std::unique_ptr<Event> event = stream.make_event();
  stream.record(*event);
  std::thread([&] { EXPECT_TRUE(event->done()); }).join();
  std::thread([&] { EXPECT_NO_THROW(event->wait()); }).join();
  std::thread([&] { event.reset(); }).join();
  EXPECT_EQ(fake_.events, 0);
}

TEST_F(CudaStreamTest, CopiesFillsAndWaits) {
  CudaStream stream(table(), 0, nullptr);
  CudaStream other(table(), 0, reinterpret_cast<CUstream>(0x80));
  std::vector<char> from(100, 'x'), to(100);
  stream.copy(to.data(), from.data(), 100);
  EXPECT_EQ(to, from);
  stream.fill(to.data(), 'y', 50);
  EXPECT_EQ(to[49], 'y');
  EXPECT_EQ(to[50], 'x');
  fake_.calls.clear();
  stream.copy(to.data(), from.data(), 0);
  EXPECT_TRUE(fake_.calls.empty());
  const std::unique_ptr<Event> event = stream.make_event();
  stream.record(*event);
  other.wait_for(*event);
  other.synchronize();
  EXPECT_EQ(fake_.calls, (std::vector<std::string>{"event", "record", "wait_for", "synchronize"}));
}

TEST_F(CudaStreamTest, RefusalsNameDeviceAndCall) {
  CudaStream stream(table(), 3, nullptr);
  fake_.next = CUDA_ERROR_INVALID_VALUE;
  try {
    stream.synchronize();
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_STREQ(e.what(), "device 'cuda:3': cuStreamSynchronize: error 1 (fake error)");
  }
  const std::unique_ptr<Event> event = stream.make_event();
  fake_.next = CUDA_ERROR_ILLEGAL_ADDRESS;
  EXPECT_THROW(event->done(), Error);
}

TEST_F(CudaStreamTest, GivesEventsAndContextBack) {
  {
    CudaStream stream(table(), 0, nullptr);
    const std::unique_ptr<Event> event = stream.make_event();
    EXPECT_EQ(fake_.events, 1);
    EXPECT_EQ(fake_.contexts, 1);
  }
  EXPECT_EQ(fake_.events, 0);
  EXPECT_EQ(fake_.contexts, 0);
}

}  // namespace
}  // namespace tidemark
