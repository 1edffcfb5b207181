#include "memory/allocator/testing/unbacked_device.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/error.h"

namespace tidemark::memory {

UnbackedDevice::UnbackedDevice(int64_t capacity_bytes, int64_t page_bytes, int64_t max_mappings)
    : DeviceMemory(DeviceKind::sim, "unbacked"),
      capacity_bytes_(capacity_bytes),
      page_bytes_(page_bytes),
      max_mappings_(max_mappings) {}

std::byte* UnbackedDevice::reserve_addresses(int64_t bytes) {
  // A page more leaves room to align.
  const size_t total = static_cast<size_t>(bytes + page_bytes_);
  void* start = ::mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) throw Error(ErrorCode::out_of_memory, "no addresses");
  const uintptr_t address = reinterpret_cast<uintptr_t>(start), page = static_cast<uintptr_t>(page_bytes_);
  std::byte* data = reinterpret_cast<std::byte*>((address + page - 1) / page * page);
  const size_t before = static_cast<size_t>(data - static_cast<std::byte*>(start));
  if (before > 0) ::munmap(start, before);
  if (total > before + static_cast<size_t>(bytes)) ::munmap(data + bytes, total - before - static_cast<size_t>(bytes));
  return data;
}

void UnbackedDevice::release_addresses(std::byte* data, int64_t bytes) { ::munmap(data, static_cast<size_t>(bytes)); }

void UnbackedDevice::commit_pages(std::byte*, int64_t) {}
void UnbackedDevice::decommit_pages(std::byte*, int64_t) {}
int64_t UnbackedDevice::measure_pages(const std::byte*, int64_t) const { return 0; }

void UnbackedDevice::create_physical(std::span<PageId> pages) {
  for (PageId& page : pages) {
    if (unused_.empty()) {
      page = {static_cast<int64_t>(exists_.size())};
      exists_.push_back(true);
    } else {
      page = {unused_.back()};
      unused_.pop_back();
      exists_[static_cast<size_t>(page.value)] = true;
    }
  }
}

void UnbackedDevice::destroy_physical(std::span<const PageId> pages) {
  for (const PageId page : pages) {
    TM_CHECK(page.value >= 0 && exists_.at(static_cast<size_t>(page.value)), "a page that is not there is destroyed");
    exists_[static_cast<size_t>(page.value)] = false;
    unused_.push_back(page.value);
  }
}

int64_t UnbackedDevice::page_at(const std::byte* data) const {
  const auto found = mapped_.find(data);
  return found == mapped_.end() ? -1 : found->second;
}

void UnbackedDevice::map_physical(std::byte* data, std::span<const PageId> pages) {
  int64_t runs = 0;
  for (size_t i = 0; i < pages.size(); ++i) {
    TM_CHECK(pages[i].value >= 0 && exists_.at(static_cast<size_t>(pages[i].value)), "a page that is not there");
    runs += i == 0 || pages[i].value != pages[i - 1].value + 1;
  }
  if (mappings_ + runs > max_mappings_) throw Error(ErrorCode::out_of_memory, "no more mappings");
  ++map_calls_;
  for (size_t i = 0; i < pages.size(); ++i) {
    const std::byte* address = data + static_cast<int64_t>(i) * page_bytes_;
    mappings_ += page_at(address - page_bytes_) + 1 != pages[i].value || pages[i].value == 0;
    mappings_ -= page_at(address + page_bytes_) == pages[i].value + 1;
    mapped_[address] = pages[i].value;
  }
}

void UnbackedDevice::unmap_physical(std::byte* data, int64_t bytes) {
  for (std::byte* address = data; address < data + bytes; address += page_bytes_) {
    const int64_t page = page_at(address);
    mappings_ -= page_at(address - page_bytes_) + 1 != page || page == 0;
    mappings_ += page_at(address + page_bytes_) == page + 1;
    mapped_.erase(address);
  }
}

}  // namespace tidemark::memory
