// Memory of a CUDA device through the driver's virtual memory calls (CUDA driver API, section "Virtual Memory
// Management").
#pragma once

#include <unordered_set>
#include <vector>

#include "device/cuda/cuda_driver.h"
#include "device/cuda/nvml.h"
#include "device/device_memory.h"

namespace tidemark {

// Holds the device's primary context, which the runtime API and the vendor libraries use too.
class CudaMemory : public DeviceMemory {
 public:
  // `nvml` tells what others hold. Throws Error(device) if there is no such device or it has no virtual memory
  // management.
  CudaMemory(const CudaDriver& driver, int index, const NvmlTable& nvml = {});
  ~CudaMemory() override;

  int64_t capacity_bytes() const override { return capacity_bytes_; }
  // Throws Error(device).
  int64_t free_bytes() const override;
  int64_t granularity_bytes() const override { return granularity_bytes_; }
  int64_t foreign_bytes() const override;

 private:
  std::byte* reserve_addresses(int64_t bytes) override;
  void release_addresses(std::byte* data, int64_t bytes) override;
  void commit_pages(std::byte* data, int64_t bytes) override;
  void decommit_pages(std::byte* data, int64_t bytes) override;
  // Asks the driver for the allocation behind every granule; those of create_physical() are counted there.
  int64_t measure_pages(const std::byte* data, int64_t bytes) const override;

  void create_physical(std::span<PageId> pages) override;
  void destroy_physical(std::span<const PageId> pages) override;
  void map_physical(std::byte* data, std::span<const PageId> pages) override;
  void unmap_physical(std::byte* data, int64_t bytes) override { unmap(data, bytes); }
  // Handles that are held; the driver keeps no sum that could be asked.
  int64_t measure_physical() const override;

  void allow_access(std::byte* data, int64_t bytes);
  CUresult map_granule(std::byte* data);
  void unmap(std::byte* data, int64_t bytes);
  [[noreturn]] void fail(const char* call, CUresult result) const;

  struct MemoryInfo {
    int64_t free_bytes;
    int64_t total_bytes;
  };
  MemoryInfo memory_info() const;

  const CudaDriver driver_;
  const NvmlTable nvml_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmemAllocationProp properties_ = {};
  int64_t granularity_bytes_ = 0;
  int64_t capacity_bytes_ = 0;
  std::vector<CUmemGenericAllocationHandle> pages_;  // by PageId; of free ids: anything
  std::vector<int64_t> free_ids_;
  std::unordered_set<CUmemGenericAllocationHandle> created_;  // the pages that are there
};

}  // namespace tidemark
