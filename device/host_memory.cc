#include "device/host_memory.h"

#include <utility>

#include "device/host_capacity.h"
#include "device/host_processes.h"

namespace tidemark {
HostMemory::HostMemory(std::string system_root, PageFileKind file_kind)
    : DeviceMemory(DeviceKind::cpu, "cpu"), system_root_(std::move(system_root)), pages_(name(), file_kind) {}

int64_t HostMemory::capacity_bytes() const { return read_host_capacity(system_root_).total_bytes; }

int64_t HostMemory::free_bytes() const { return read_host_capacity(system_root_).free_bytes; }

int64_t HostMemory::foreign_bytes() const { return other_processes_bytes(system_root_); }

int64_t HostMemory::committable_bytes() const { return committable_host_bytes(system_root_); }

void HostMemory::create_physical(std::span<PageId> pages) { pages_.create(pages, capacity_bytes()); }

}  // namespace tidemark
