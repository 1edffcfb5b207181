// Memory of this machine as a device. Note [Host pages]
//
// A range is private anonymous memory without access rights. Commit gives access and populates every page at once, so
// that the kernel has given them when the call returns; decommit drops the pages and takes the access away again.
// Granules are 2 MiB and aligned, so that the kernel can use huge pages: dropping half a huge page would free nothing.
// Pages are left out of core dumps.
//
// Linux lets a process populate more than there is and then kills one. So every commit first looks at the limit, at
// free memory and at the cgroups, in steps of 64 MiB, and leaves a reserve for the kernel and for everything else.
// Limit: a neighbour that takes memory during a step can still bring the killer; no interface closes that gap.
#pragma once

#include <string>

#include "device/device_memory.h"
#include "device/page_file.h"

namespace tidemark {

class HostMemory final : public DeviceMemory {
 public:
  // `system_root` is put before the paths of /proc and of cgroups that capacity and free bytes are read from (tests).
  explicit HostMemory(std::string system_root = "");

  int64_t capacity_bytes() const override;
  int64_t free_bytes() const override;
  // Free bytes less the reserve of Note [Host pages]: 1/64 of the capacity, at least 64 MiB.
  int64_t committable_bytes() const override;
  int64_t granularity_bytes() const override;

 private:
  std::byte* reserve_addresses(int64_t bytes) override;
  void release_addresses(std::byte* data, int64_t bytes) override;
  void commit_pages(std::byte* data, int64_t bytes) override;
  void decommit_pages(std::byte* data, int64_t bytes) override;
  // Resident and swapped bytes of the mappings of these addresses, from /proc/self/smaps. Throws Error(io).
  int64_t measure_pages(const std::byte* data, int64_t bytes) const override;

  void create_physical(std::span<PageId> pages) override { page_file_.create(pages); }
  void destroy_physical(std::span<const PageId> pages) override { page_file_.destroy(pages); }
  void map_physical(std::byte* data, std::span<const PageId> pages) override { page_file_.map(data, pages); }
  void unmap_physical(std::byte* data, int64_t bytes) override { page_file_.unmap(data, bytes); }
  int64_t measure_physical() const override { return page_file_.measured_bytes(); }

  const std::string system_root_;
  PageFile page_file_;
};

}  // namespace tidemark
