// A stream of CUDA that somebody else made (cudaStream_t, CUstream), as the rest of the program sees streams.
#pragma once

#include <cuda.h>

#include <memory>
#include <string>

#include "device/stream.h"

namespace tidemark {

// The driver's calls for order of work, as CudaDriver has those for memory.
struct CudaStreamCalls {
  decltype(&::cuGetErrorString) get_error_string = nullptr;
  decltype(&::cuDeviceGet) device_get = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) primary_context_retain = nullptr;
  decltype(&::cuDevicePrimaryCtxRelease) primary_context_release = nullptr;
  decltype(&::cuCtxSetCurrent) context_set_current = nullptr;
  decltype(&::cuEventCreate) event_create = nullptr;
  decltype(&::cuEventDestroy) event_destroy = nullptr;
  decltype(&::cuEventRecord) event_record = nullptr;
  decltype(&::cuEventQuery) event_query = nullptr;
  decltype(&::cuEventSynchronize) event_synchronize = nullptr;
  decltype(&::cuStreamWaitEvent) stream_wait_event = nullptr;
  decltype(&::cuStreamSynchronize) stream_synchronize = nullptr;
  decltype(&::cuMemcpyAsync) copy = nullptr;
  decltype(&::cuMemsetD8Async) fill = nullptr;
};

// Throws Error(device) that names the call which cannot be found.
CudaStreamCalls load_cuda_stream_calls();

// Keeps the device's primary context, and must outlive its events. Every call, those of its events too, makes it the
// calling thread's context. Throws Error(device).
class CudaStream final : public Stream {
 public:
  // `stream` stays its maker's and must outlive this; nullptr is the default stream.
  CudaStream(const CudaStreamCalls& calls, int index, CUstream stream);
  ~CudaStream() override;

  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  void wait_for(Event& event) override;
  void synchronize() override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void fill(void* to, uint8_t value, int64_t bytes) override;

 private:
  void enter() const;
  void check(const char* call, CUresult result) const;

  const CudaStreamCalls calls_;
  const int index_;
  const CUstream stream_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
};

}  // namespace tidemark
