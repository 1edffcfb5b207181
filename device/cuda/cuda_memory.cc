#include "device/cuda/cuda_memory.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"

namespace tidemark {
namespace {

CUdeviceptr address(const std::byte* data) { return reinterpret_cast<CUdeviceptr>(data); }

}  // namespace

std::string describe(const CudaDriver& driver, const char* call, CUresult result) {
  const char* text = nullptr;
  if (driver.get_error_string(result, &text) != CUDA_SUCCESS || !text) text = "unknown";
  return fmt::format("{}: error {} ({})", call, static_cast<int>(result), text);
}

CudaMemory::CudaMemory(const CudaDriver& driver, int index, const NvmlTable& nvml)
    : DeviceMemory(DeviceKind::cuda, fmt::format("cuda:{}", index)), driver_(driver), nvml_(nvml) {
  if (const CUresult r = driver_.init(0); r != CUDA_SUCCESS) fail("cuInit", r);
  if (const CUresult r = driver_.device_get(&device_, index); r != CUDA_SUCCESS) fail("cuDeviceGet", r);

  properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, device_};
  size_t granularity = 0;
  if (const CUresult r = driver_.granularity(&granularity, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
      r != CUDA_SUCCESS) {
    fail("cuMemGetAllocationGranularity", r);
  }
  granularity_bytes_ = static_cast<int64_t>(granularity);

  if (const CUresult r = driver_.primary_context_retain(&context_, device_); r != CUDA_SUCCESS) {
    fail("cuDevicePrimaryCtxRetain", r);
  }
  try {
    capacity_bytes_ = memory_info().total_bytes;
  } catch (...) {
    driver_.primary_context_release(device_);
    throw;
  }
}

CudaMemory::~CudaMemory() {
  if (const CUresult r = driver_.primary_context_release(device_); r != CUDA_SUCCESS) {
    log(LogLevel::error, "device_release_failed",
        {{"device", name()}, {"reason", describe(driver_, "cuDevicePrimaryCtxRelease", r)}});
  }
}

void CudaMemory::fail(const char* call, CUresult result) const {
  const bool out_of_memory = result == CUDA_ERROR_OUT_OF_MEMORY;
  throw Error(out_of_memory ? ErrorCode::out_of_memory : ErrorCode::device,
              fmt::format("device '{}': {}{}", name(), describe(driver_, call, result),
                          out_of_memory ? "; stop other programs or lower memory.budget" : ""));
}

CudaMemory::MemoryInfo CudaMemory::memory_info() const {
  // The context belongs to the calling thread: any thread may ask.
  if (const CUresult r = driver_.context_set_current(context_); r != CUDA_SUCCESS) fail("cuCtxSetCurrent", r);
  size_t free = 0, total = 0;
  if (const CUresult r = driver_.memory_info(&free, &total); r != CUDA_SUCCESS) fail("cuMemGetInfo", r);
  return {static_cast<int64_t>(free), static_cast<int64_t>(total)};
}

int64_t CudaMemory::free_bytes() const { return memory_info().free_bytes; }

int64_t CudaMemory::foreign_bytes() const {
  char bus_id[32] = {};
  if (driver_.device_pci_bus_id(bus_id, sizeof(bus_id), device_) != CUDA_SUCCESS) return kUnknownBytes;
  return nvml_foreign_bytes(nvml_, bus_id, ::getpid());
}

std::byte* CudaMemory::reserve_addresses(int64_t bytes) {
  CUdeviceptr start = 0;
  const CUresult r =
      driver_.address_reserve(&start, static_cast<size_t>(bytes), static_cast<size_t>(granularity_bytes_), 0, 0);
  if (r != CUDA_SUCCESS) fail("cuMemAddressReserve", r);
  return reinterpret_cast<std::byte*>(start);
}

void CudaMemory::release_addresses(std::byte* data, int64_t bytes) {
  const CUresult r = driver_.address_free(address(data), static_cast<size_t>(bytes));
  if (r != CUDA_SUCCESS) fail("cuMemAddressFree", r);
}

// The mapping keeps the pages alive; the handle is not needed after it.
CUresult CudaMemory::map_granule(std::byte* data) {
  CUmemGenericAllocationHandle handle = 0;
  const size_t bytes = static_cast<size_t>(granularity_bytes_);
  if (const CUresult r = driver_.create(&handle, bytes, &properties_, 0); r != CUDA_SUCCESS) return r;
  const CUresult mapped = driver_.map(address(data), bytes, 0, handle, 0);
  const CUresult released = driver_.release(handle);
  if (mapped == CUDA_SUCCESS && released != CUDA_SUCCESS) driver_.unmap(address(data), bytes);
  return mapped != CUDA_SUCCESS ? mapped : released;
}

// One granule at a time: only whole mappings can be taken away.
void CudaMemory::unmap(std::byte* data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += granularity_bytes_) {
    const CUresult r = driver_.unmap(address(data + at), static_cast<size_t>(granularity_bytes_));
    if (r != CUDA_SUCCESS) fail("cuMemUnmap", r);
  }
}

void CudaMemory::commit_pages(std::byte* data, int64_t bytes) {
  for (int64_t at = 0; at < bytes; at += granularity_bytes_) {
    const CUresult r = map_granule(data + at);
    if (r == CUDA_SUCCESS) continue;
    unmap(data, at);
    fail("cuMemCreate, cuMemMap", r);
  }
  allow_access(data, bytes);
}

// Takes the mappings away again if the driver refuses.
void CudaMemory::allow_access(std::byte* data, int64_t bytes) {
  const CUmemAccessDesc access = {properties_.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  const CUresult r = driver_.set_access(address(data), static_cast<size_t>(bytes), &access, 1);
  if (r == CUDA_SUCCESS) return;
  unmap(data, bytes);
  fail("cuMemSetAccess", r);
}

void CudaMemory::create_physical(std::span<PageId> pages) {
  for (size_t i = 0; i < pages.size(); ++i) {
    CUmemGenericAllocationHandle handle = 0;
    const CUresult r = driver_.create(&handle, static_cast<size_t>(granularity_bytes_), &properties_, 0);
    if (r != CUDA_SUCCESS) {
      destroy_physical(pages.first(i));
      fail("cuMemCreate", r);
    }
    if (free_ids_.empty()) {
      free_ids_.push_back(static_cast<int64_t>(pages_.size()));
      pages_.emplace_back();
    }
    pages[i] = {free_ids_.back()};
    free_ids_.pop_back();
    pages_[static_cast<size_t>(pages[i].value)] = handle;
    created_.insert(handle);
  }
}

void CudaMemory::destroy_physical(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    const CUmemGenericAllocationHandle handle = pages_.at(static_cast<size_t>(page.value));
    TM_CHECK(created_.erase(handle) == 1, fmt::format("page {} is given back but is not there", page.value));
    const CUresult r = driver_.release(handle);
    free_ids_.push_back(page.value);
    if (r != CUDA_SUCCESS) fail("cuMemRelease", r);
  }
}

void CudaMemory::map_physical(std::byte* data, std::span<const PageId> pages) {
  const int64_t granule = granularity_bytes_;
  for (size_t i = 0; i < pages.size(); ++i) {
    const int64_t at = static_cast<int64_t>(i) * granule;
    const CUmemGenericAllocationHandle handle = pages_.at(static_cast<size_t>(pages[i].value));
    const CUresult r = driver_.map(address(data + at), static_cast<size_t>(granule), 0, handle, 0);
    if (r == CUDA_SUCCESS) continue;
    unmap(data, at);
    fail("cuMemMap", r);
  }
  allow_access(data, static_cast<int64_t>(pages.size()) * granule);
}

int64_t CudaMemory::measure_physical() const { return static_cast<int64_t>(created_.size()) * granularity_bytes_; }

void CudaMemory::decommit_pages(std::byte* data, int64_t bytes) { unmap(data, bytes); }

int64_t CudaMemory::measure_pages(const std::byte* data, int64_t bytes) const {
  int64_t sum = 0;
  for (int64_t at = 0; at < bytes; at += granularity_bytes_) {
    CUmemGenericAllocationHandle handle = 0;
    if (driver_.retain_handle(&handle, const_cast<std::byte*>(data + at)) != CUDA_SUCCESS) continue;
    if (const CUresult r = driver_.release(handle); r != CUDA_SUCCESS) fail("cuMemRelease", r);
    // The driver gives back the very handle that was mapped.
    if (created_.count(handle) > 0) continue;
    sum += granularity_bytes_;
  }
  return sum;
}

}  // namespace tidemark
