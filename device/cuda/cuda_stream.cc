#include "device/cuda/cuda_stream.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/log.h"

namespace tidemark {
namespace {

CUdeviceptr address(const void* data) { return reinterpret_cast<CUdeviceptr>(data); }

void check(const CudaStreamCalls& calls, const char* call, CUresult result) {
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  if (calls.get_error_string(result, &text) != CUDA_SUCCESS || !text) text = "unknown";
  throw Error(ErrorCode::device, fmt::format("{}: error {} ({})", call, static_cast<int>(result), text));
}

class CudaEvent final : public Event {
 public:
  CudaEvent(const CudaStreamCalls& calls, CUcontext context) : calls_(calls), context_(context) {
    enter();
    check(calls_, "cuEventCreate", calls_.event_create(&event_, CU_EVENT_DISABLE_TIMING));
  }
  ~CudaEvent() override {
    if (calls_.context_set_current(context_) != CUDA_SUCCESS || calls_.event_destroy(event_) != CUDA_SUCCESS) {
      log(LogLevel::error, "device_event_leaked", {});
    }
  }

  bool done() const override {
    enter();
    const CUresult result = calls_.event_query(event_);
    if (result == CUDA_ERROR_NOT_READY) return false;
    check(calls_, "cuEventQuery", result);
    return true;
  }
  void wait() override {
    enter();
    check(calls_, "cuEventSynchronize", calls_.event_synchronize(event_));
  }
  CUevent get() const { return event_; }

 private:
  // Whoever asks may be a thread that has made no call of CUDA yet.
  void enter() const { check(calls_, "cuCtxSetCurrent", calls_.context_set_current(context_)); }

  const CudaStreamCalls calls_;
  const CUcontext context_;
  CUevent event_ = nullptr;
};

}  // namespace

CudaStream::CudaStream(const CudaStreamCalls& calls, int index, CUstream stream)
    : calls_(calls), index_(index), stream_(stream) {
  check("cuDeviceGet", calls_.device_get(&device_, index_));
  check("cuDevicePrimaryCtxRetain", calls_.primary_context_retain(&context_, device_));
}

CudaStream::~CudaStream() {
  if (calls_.primary_context_release(device_) != CUDA_SUCCESS) {
    log(LogLevel::error, "device_release_failed", {{"device", fmt::format("cuda:{}", index_)}});
  }
}

void CudaStream::check(const char* call, CUresult result) const {
  try {
    tidemark::check(calls_, call, result);
  } catch (const Error& e) {
    throw Error(e.code(), fmt::format("device 'cuda:{}': {}", index_, e.what()));
  }
}

void CudaStream::enter() const { check("cuCtxSetCurrent", calls_.context_set_current(context_)); }

std::unique_ptr<Event> CudaStream::make_event() { return std::make_unique<CudaEvent>(calls_, context_); }

void CudaStream::record(Event& event) {
  enter();
  check("cuEventRecord", calls_.event_record(dynamic_cast<CudaEvent&>(event).get(), stream_));
}

void CudaStream::wait_for(Event& event) {
  enter();
  check("cuStreamWaitEvent", calls_.stream_wait_event(stream_, dynamic_cast<CudaEvent&>(event).get(), 0));
}

void CudaStream::synchronize() {
  enter();
  check("cuStreamSynchronize", calls_.stream_synchronize(stream_));
}

void CudaStream::copy(void* to, const void* from, int64_t bytes) {
  if (bytes == 0) return;
  enter();
  check("cuMemcpyAsync", calls_.copy(address(to), address(from), static_cast<size_t>(bytes), stream_));
}

void CudaStream::fill(void* to, uint8_t value, int64_t bytes) {
  if (bytes == 0) return;
  enter();
  check("cuMemsetD8Async", calls_.fill(address(to), value, static_cast<size_t>(bytes), stream_));
}

}  // namespace tidemark
