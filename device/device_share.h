// A share of a device for one of several instances in this process: its own limit, books and peak.
//
// Pages come from the whole device and count there too, so neither the share's limit nor that of the whole is crossed.
// An instance that hits its own limit is refused; the others do not notice. What a share's reclaimers hold for later is
// asked for when another share or the whole runs short.
#pragma once

#include <string>

#include "device/device_memory.h"

namespace tidemark {

class DeviceShare : public DeviceMemory {
 public:
  // `whole` must outlive the share. `name` is what messages call it: "cpu/retrieval".
  DeviceShare(DeviceMemory& whole, std::string name, int64_t limit_bytes);
  ~DeviceShare() override;

  int64_t capacity_bytes() const override { return whole_.capacity_bytes(); }
  int64_t free_bytes() const override { return whole_.free_bytes(); }
  // What other shares hold, and the rest of this process, is foreign too: total = free + own + foreign as on the whole.
  int64_t foreign_bytes() const override { return use().foreign_bytes; }
  DeviceUse use() const override;
  int64_t committable_bytes() const override;
  int64_t granularity_bytes() const override { return whole_.granularity_bytes(); }

 private:
  std::byte* reserve_addresses(int64_t bytes) override;
  void release_addresses(std::byte* data, int64_t bytes) override;
  void commit_pages(std::byte* data, int64_t bytes) override;
  void decommit_pages(std::byte* data, int64_t bytes) override;
  int64_t measure_pages(const std::byte* data, int64_t bytes) const override;
  void create_physical(std::span<PageId> pages) override;
  void destroy_physical(std::span<const PageId> pages) override;
  void map_physical(std::byte* data, std::span<const PageId> pages) override;
  void unmap_physical(std::byte* data, int64_t bytes) override;
  int64_t measure_physical() const override;
  void make_room(int64_t bytes) override;

  DeviceMemory& whole_;
  int64_t reclaimer_ = 0;
};

}  // namespace tidemark
