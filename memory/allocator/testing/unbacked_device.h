// A device of any size without memory behind it: addresses that fault, pages that are numbers. For tests and benchmarks
// that look at books, places and refusals of an allocator, not at contents.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "device/device_memory.h"

namespace tidemark::memory {

class UnbackedDevice final : public DeviceMemory {
 public:
  // page_bytes: a power of two, at least that of the machine. max_mappings: runs of neighbouring pages behind
  // neighbouring addresses that it maps at most.
  explicit UnbackedDevice(int64_t capacity_bytes, int64_t page_bytes = int64_t{2} << 20,
                          int64_t max_mappings = int64_t{1} << 40);

  int64_t capacity_bytes() const override { return capacity_bytes_; }
  int64_t free_bytes() const override { return capacity_bytes_ - committed_bytes(); }
  int64_t granularity_bytes() const override { return page_bytes_; }

  int64_t map_calls() const { return map_calls_; }
  int64_t mappings() const { return mappings_; }

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
  int64_t measure_physical() const override { return created_bytes(); }

  int64_t page_at(const std::byte* data) const;  // -1: none

  const int64_t capacity_bytes_;
  const int64_t page_bytes_;
  const int64_t max_mappings_;
  std::map<const std::byte*, int64_t> mapped_;  // page number by address
  std::vector<bool> exists_;                    // by page number
  std::vector<int64_t> unused_;                 // numbers below exists_.size()
  int64_t mappings_ = 0;
  int64_t map_calls_ = 0;
};

}  // namespace tidemark::memory
