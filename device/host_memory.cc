#include "device/host_memory.h"

#include <utility>

#include "device/host_capacity.h"
#include "device/host_processes.h"

namespace tidemark {
HostMemory::HostMemory(std::string system_root, PageFileKind file_kind)
    : DeviceMemory(DeviceKind::cpu, "cpu"),
      system_root_(std::move(system_root)),
      room_(system_root_),
      pages_(name(), file_kind) {}

int64_t HostMemory::capacity_bytes() const { return read_host_capacity(system_root_).total_bytes; }

int64_t HostMemory::free_bytes() const { return read_host_capacity(system_root_).free_bytes; }

int64_t HostMemory::foreign_bytes() const { return other_processes_bytes(system_root_); }

int64_t HostMemory::committable_bytes() const { return room_.committable_bytes(); }

void HostMemory::commit_pages(std::byte* data, int64_t bytes) {
  pages_.commit(data, bytes);
  room_.note_taken(bytes);
}

void HostMemory::decommit_pages(std::byte* data, int64_t bytes) {
  pages_.decommit(data, bytes);
  room_.note_given_back(bytes);
}

void HostMemory::create_physical(std::span<PageId> pages) {
  pages_.create(pages, [this] { return capacity_bytes(); });
  room_.note_taken(static_cast<int64_t>(pages.size()) * granularity_bytes());
}

void HostMemory::destroy_physical(std::span<const PageId> pages) {
  pages_.destroy(pages);
  room_.note_given_back(static_cast<int64_t>(pages.size()) * granularity_bytes());
}

}  // namespace tidemark
