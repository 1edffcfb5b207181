// Passes every call on and writes it down.
#pragma once

#include <mutex>
#include <unordered_map>

#include "memory/allocator/allocator.h"
#include "memory/call_trace/call_trace.h"

namespace tidemark::memory {

class RecordingAllocator final : public Allocator {
 public:
  // `inner` must outlive it.
  RecordingAllocator(Allocator& inner, std::string name) : inner_(inner), trace_{std::move(name), {}} {}

  // A refused call is not written down.
  std::byte* allocate(const AllocationRequest& request) override;
  void deallocate(std::byte* address) override;
  void record_use(std::byte* address, Stream& stream) override { inner_.record_use(address, stream); }

  AllocatorStats stats() const override { return inner_.stats(); }
  void reset_peaks() override { inner_.reset_peaks(); }
  int64_t trim(int64_t cached_bytes) override { return inner_.trim(cached_bytes); }

  // What was called so far.
  CallTrace trace() const;

 private:
  Allocator& inner_;
  mutable std::mutex mutex_;
  CallTrace trace_;
  std::unordered_map<std::byte*, int64_t> ids_;
  int64_t next_id_ = 0;
};

}  // namespace tidemark::memory
