#include "device/cuda/fake_cuda_driver.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

#include "base/error.h"

namespace tidemark {
namespace {

FakeCudaDriver* current = nullptr;

void* pointer(CUdeviceptr address) { return reinterpret_cast<void*>(address); }

// Addresses without access, as before a mapping.
void take_access_away(CUdeviceptr address, size_t bytes) {
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
  TM_CHECK(::mmap(pointer(address), bytes, PROT_NONE, flags, -1, 0) != MAP_FAILED, "mmap of a fake device");
}

}  // namespace

FakeCudaDriver::FakeCudaDriver(int64_t device_bytes) : device_bytes_(device_bytes) {
  TM_CHECK(!current, "one fake driver at a time");
  backing_file_ = ::memfd_create("fake-cuda-device", MFD_CLOEXEC);
  TM_CHECK(backing_file_ >= 0 && ::ftruncate(backing_file_, device_bytes) == 0, "no file for a fake device");
  for (int64_t slot = device_bytes / kGranularityBytes - 1; slot >= 0; --slot) free_slots_.push_back(slot);
  current = this;
}

FakeCudaDriver::~FakeCudaDriver() {
  for (const auto& [start, bytes] : ranges_) ::munmap(pointer(start), bytes);
  ::close(backing_file_);
  current = nullptr;
}

FakeCudaDriver& FakeCudaDriver::instance() {
  TM_CHECK(current, "a call after the fake driver's end");
  return *current;
}

CudaDriver FakeCudaDriver::table() const {
  CudaDriver t;
  t.init = init;
  t.get_error_string = get_error_string;
  t.device_get = device_get;
  t.device_pci_bus_id = device_pci_bus_id;
  t.primary_context_retain = primary_context_retain;
  t.primary_context_release = primary_context_release;
  t.context_set_current = context_set_current;
  t.memory_info = memory_info;
  t.granularity = granularity;
  t.address_reserve = address_reserve;
  t.address_free = address_free;
  t.create = create;
  t.release = release;
  t.map = map;
  t.unmap = unmap;
  t.set_access = set_access;
  t.retain_handle = retain_handle;
  return t;
}

CUresult FakeCudaDriver::enter(const char* name) {
  calls_.emplace_back(name);
  if (refuse_in_ < 0) return CUDA_SUCCESS;
  return refuse_in_-- == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

void FakeCudaDriver::drop_if_unused(CUmemGenericAllocationHandle handle) {
  const auto found = allocations_.find(handle);
  if (found->second.handles > 0 || found->second.mappings > 0) return;
  const int64_t slot = found->second.slot;
  ::fallocate(backing_file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, slot * kGranularityBytes, kGranularityBytes);
  free_slots_.push_back(slot);
  allocations_.erase(found);
}

bool FakeCudaDriver::inside_a_range(CUdeviceptr address, size_t bytes) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return false;
  const auto range = std::prev(after);
  return address + bytes <= range->first + range->second;
}

CUresult FakeCudaDriver::init(unsigned) { return instance().enter("cuInit"); }

CUresult FakeCudaDriver::get_error_string(CUresult error, const char** text) {
  *text = error == CUDA_ERROR_OUT_OF_MEMORY ? "out of memory" : "fake error";
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::device_get(CUdevice* device, int ordinal) {
  *device = ordinal;
  const CUresult result = instance().enter("cuDeviceGet");
  return result == CUDA_SUCCESS && ordinal != 0 ? CUDA_ERROR_INVALID_DEVICE : result;
}

CUresult FakeCudaDriver::device_pci_bus_id(char* text, int bytes, CUdevice) {
  std::snprintf(text, static_cast<size_t>(bytes), "%s", kPciBusId);
  return instance().enter("cuDeviceGetPCIBusId");
}

CUresult FakeCudaDriver::primary_context_retain(CUcontext* context, CUdevice) {
  if (const CUresult r = instance().enter("cuDevicePrimaryCtxRetain"); r != CUDA_SUCCESS) return r;
  *context = reinterpret_cast<CUcontext>(&instance());
  ++instance().contexts_;
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::primary_context_release(CUdevice) {
  --instance().contexts_;
  return instance().enter("cuDevicePrimaryCtxRelease");
}

CUresult FakeCudaDriver::context_set_current(CUcontext context) {
  if (context != reinterpret_cast<CUcontext>(&instance())) return CUDA_ERROR_INVALID_CONTEXT;
  return instance().enter("cuCtxSetCurrent");
}

CUresult FakeCudaDriver::memory_info(size_t* free, size_t* total) {
  FakeCudaDriver& fake = instance();
  *total = static_cast<size_t>(fake.device_bytes_);
  *free = static_cast<size_t>(fake.device_bytes_ - static_cast<int64_t>(fake.allocations_.size()) * kGranularityBytes);
  return fake.enter("cuMemGetInfo");
}

CUresult FakeCudaDriver::granularity(size_t* bytes, const CUmemAllocationProp* prop, CUmemAllocationGranularity_flags) {
  *bytes = static_cast<size_t>(kGranularityBytes);
  const CUresult result = instance().enter("cuMemGetAllocationGranularity");
  return prop->type == CU_MEM_ALLOCATION_TYPE_PINNED ? result : CUDA_ERROR_INVALID_VALUE;
}

CUresult FakeCudaDriver::address_reserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr,
                                         unsigned long long) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemAddressReserve"); r != CUDA_SUCCESS) return r;
  if (bytes % kGranularityBytes != 0 || alignment % kGranularityBytes != 0) return CUDA_ERROR_INVALID_VALUE;
  void* start = ::mmap(nullptr, bytes + alignment, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
  const CUdeviceptr begin = reinterpret_cast<CUdeviceptr>(start);
  *address = (begin + alignment - 1) / alignment * alignment;
  if (*address > begin) ::munmap(start, *address - begin);
  if (const size_t rest = begin + alignment - *address; rest > 0) ::munmap(pointer(*address + bytes), rest);
  fake.ranges_[*address] = bytes;
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::address_free(CUdeviceptr address, size_t bytes) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemAddressFree"); r != CUDA_SUCCESS) return r;
  const auto range = fake.ranges_.find(address);
  if (range == fake.ranges_.end() || range->second != bytes) return CUDA_ERROR_INVALID_VALUE;
  const auto mapping = fake.mappings_.lower_bound(address);
  if (mapping != fake.mappings_.end() && mapping->first < address + bytes) return CUDA_ERROR_INVALID_VALUE;
  fake.ranges_.erase(range);
  ::munmap(pointer(address), bytes);
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::create(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* prop,
                                unsigned long long) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemCreate"); r != CUDA_SUCCESS) return r;
  if (bytes != kGranularityBytes || prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE || prop->location.id != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (fake.free_slots_.empty()) return CUDA_ERROR_OUT_OF_MEMORY;
  *handle = fake.next_handle_++;
  fake.allocations_[*handle] = {.handles = 1, .mappings = 0, .slot = fake.free_slots_.back()};
  fake.free_slots_.pop_back();
  ++fake.open_handles_;
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::release(CUmemGenericAllocationHandle handle) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemRelease"); r != CUDA_SUCCESS) return r;
  const auto found = fake.allocations_.find(handle);
  if (found == fake.allocations_.end() || found->second.handles == 0) return CUDA_ERROR_INVALID_VALUE;
  --found->second.handles;
  --fake.open_handles_;
  fake.drop_if_unused(handle);
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::map(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                             unsigned long long) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemMap"); r != CUDA_SUCCESS) return r;
  const auto found = fake.allocations_.find(handle);
  const bool valid = found != fake.allocations_.end() && found->second.handles > 0 && offset == 0 &&
                     bytes == kGranularityBytes && address % kGranularityBytes == 0 &&
                     fake.inside_a_range(address, bytes);
  if (!valid || fake.mappings_.count(address) > 0) return CUDA_ERROR_INVALID_VALUE;
  fake.mappings_[address] = {handle};
  ++found->second.mappings;
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::unmap(CUdeviceptr address, size_t bytes) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemUnmap"); r != CUDA_SUCCESS) return r;
  const auto found = fake.mappings_.find(address);
  if (found == fake.mappings_.end() || bytes != kGranularityBytes) return CUDA_ERROR_INVALID_VALUE;
  const CUmemGenericAllocationHandle handle = found->second.handle;
  fake.mappings_.erase(found);
  --fake.allocations_[handle].mappings;
  fake.drop_if_unused(handle);
  take_access_away(address, bytes);
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::set_access(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemSetAccess"); r != CUDA_SUCCESS) return r;
  if (count != 1 || access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) return CUDA_ERROR_INVALID_VALUE;
  for (size_t at = 0; at < bytes; at += kGranularityBytes) {
    const auto found = fake.mappings_.find(address + at);
    if (found == fake.mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
    if (found->second.accessible) continue;
    const int64_t slot = fake.allocations_.at(found->second.handle).slot;
    void* mapped = ::mmap(pointer(address + at), kGranularityBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                          fake.backing_file_, slot * kGranularityBytes);
    if (mapped == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    found->second.accessible = true;
  }
  return CUDA_SUCCESS;
}

CUresult FakeCudaDriver::retain_handle(CUmemGenericAllocationHandle* handle, void* address) {
  FakeCudaDriver& fake = instance();
  if (const CUresult r = fake.enter("cuMemRetainAllocationHandle"); r != CUDA_SUCCESS) return r;
  const auto found = fake.mappings_.find(reinterpret_cast<CUdeviceptr>(address));
  if (found == fake.mappings_.end()) return CUDA_ERROR_INVALID_VALUE;
  *handle = found->second.handle;
  ++fake.allocations_[*handle].handles;
  ++fake.open_handles_;
  return CUDA_SUCCESS;
}

}  // namespace tidemark
