// A CUDA driver for tests: keeps the books that a strict driver would keep, records every call, refuses the call that a
// test names, and puts host pages behind its addresses so that tests can write to them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "device/cuda/cuda_driver.h"

namespace tidemark {

// The table holds plain functions, so one fake can live at a time.
class FakeCudaDriver {
 public:
  static constexpr int64_t kGranularityBytes = int64_t{2} << 20;
  static constexpr const char* kPciBusId = "0000:3b:00.0";

  explicit FakeCudaDriver(int64_t device_bytes);
  ~FakeCudaDriver();
  FakeCudaDriver(const FakeCudaDriver&) = delete;
  FakeCudaDriver& operator=(const FakeCudaDriver&) = delete;

  CudaDriver table() const;

  // Names of the calls since the start or the last clear_calls(), in order.
  const std::vector<std::string>& calls() const { return calls_; }
  void clear_calls() { calls_.clear(); }
  // The k-th next call from now on (0: the very next) fails with out of memory.
  void refuse_call(int k) { refuse_in_ = k; }
  bool refused() const { return refuse_in_ < 0; }

  int64_t mapped_bytes() const { return static_cast<int64_t>(mappings_.size()) * kGranularityBytes; }
  int64_t open_handles() const { return open_handles_; }
  size_t reserved_ranges() const { return ranges_.size(); }
  int contexts() const { return contexts_; }

 private:
  struct Allocation {
    int handles = 0;
    int mappings = 0;
    int64_t slot = 0;  // its granule of the backing file
  };
  struct Mapping {
    CUmemGenericAllocationHandle handle;
    bool accessible = false;
  };

  static FakeCudaDriver& instance();
  // Records a call; the result is what it must return before doing anything, CUDA_SUCCESS to go on.
  CUresult enter(const char* name);
  void drop_if_unused(CUmemGenericAllocationHandle handle);
  bool inside_a_range(CUdeviceptr address, size_t bytes) const;

  static CUresult init(unsigned flags);
  static CUresult get_error_string(CUresult error, const char** text);
  static CUresult device_get(CUdevice* device, int ordinal);
  static CUresult device_pci_bus_id(char* text, int bytes, CUdevice device);
  static CUresult primary_context_retain(CUcontext* context, CUdevice device);
  static CUresult primary_context_release(CUdevice device);
  static CUresult context_set_current(CUcontext context);
  static CUresult memory_info(size_t* free, size_t* total);
  static CUresult granularity(size_t* bytes, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags option);
  static CUresult address_reserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr hint,
                                  unsigned long long flags);
  static CUresult address_free(CUdeviceptr address, size_t bytes);
  static CUresult create(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* prop,
                         unsigned long long flags);
  static CUresult release(CUmemGenericAllocationHandle handle);
  static CUresult map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                      unsigned long long flags);
  static CUresult unmap(CUdeviceptr address, size_t bytes);
  static CUresult set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count);
  static CUresult retain_handle(CUmemGenericAllocationHandle* handle, void* address);

  const int64_t device_bytes_;
  int backing_file_ = -1;            // the device's memory: a granule can be mapped at several addresses
  std::vector<int64_t> free_slots_;  // granules of it without an allocation
  std::vector<std::string> calls_;
  int refuse_in_ = -1;
  CUmemGenericAllocationHandle next_handle_ = 100;
  int64_t open_handles_ = 0;
  int contexts_ = 0;
  std::map<CUdeviceptr, size_t> ranges_;                            // bytes by start
  std::map<CUmemGenericAllocationHandle, Allocation> allocations_;  // one granule each
  std::map<CUdeviceptr, Mapping> mappings_;                         // one granule each
};

}  // namespace tidemark
