// Memory of this machine as a device (Note [Host pages]).
//
// Linux lets a process populate more than there is and then kills one. So every commit first looks at the limit, at
// free memory and at the cgroups, in steps of 64 MiB, and leaves a reserve for the kernel and for everything else.
// Limit: a neighbour that takes memory during a step can still bring the killer; no interface closes that gap.
#pragma once

#include <string>

#include "device/device_memory.h"
#include "device/host_pages.h"
#include "device/host_room.h"

namespace tidemark {

class HostMemory final : public DeviceMemory {
 public:
  // `system_root` is put before the paths of /proc and of cgroups that capacity and free bytes are read from (tests).
  explicit HostMemory(std::string system_root = "", PageFileKind file_kind = PageFileKind::automatic);

  int64_t capacity_bytes() const override;
  int64_t free_bytes() const override;
  int64_t foreign_bytes() const override;
  // Free bytes less a reserve of 1/64 of the capacity, at least 64 MiB; up to 2 ms old while there is plenty.
  int64_t committable_bytes() const override;
  int64_t granularity_bytes() const override { return HostPages::kGranularityBytes; }

 private:
  std::byte* reserve_addresses(int64_t bytes) override { return pages_.reserve(bytes); }
  void release_addresses(std::byte* data, int64_t bytes) override { pages_.release(data, bytes); }
  void commit_pages(std::byte* data, int64_t bytes) override;
  void decommit_pages(std::byte* data, int64_t bytes) override;
  int64_t measure_pages(const std::byte* data, int64_t bytes) const override { return pages_.measure(data, bytes); }

  void create_physical(std::span<PageId> pages) override;
  void destroy_physical(std::span<const PageId> pages) override;
  void map_physical(std::byte* data, std::span<const PageId> pages) override { pages_.map(data, pages); }
  void unmap_physical(std::byte* data, int64_t bytes) override { pages_.unmap(data, bytes); }
  int64_t measure_physical() const override { return pages_.measure_file(); }

  const std::string system_root_;
  HostRoom room_;
  HostPages pages_;
};

}  // namespace tidemark
