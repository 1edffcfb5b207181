// Physical pages of host memory as parts of one file without a name, so that a page can be mapped at any address.
//
// Note [Page file]
// A page is a chunk of the file; its number is its place. Creating fills the chunk (fallocate), so that the kernel has
// given the memory when the call returns; destroying punches it out again. The count of blocks that the kernel keeps
// for the file is the exact figure of what is held, mapped or not. Neighbouring chunks behind neighbouring addresses
// are one mapping for the kernel; scattered ones are one each, of which a process may have about 65,000: mappings are
// counted, and refused before the kernel refuses threads. A touch of an address without a page is a fault: addresses
// are without access until they are mapped, and a mapped chunk must not be destroyed (the kernel would silently fill it
// again).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "device/device_memory.h"

namespace tidemark {

class PageFile {
 public:
  // Chunks of page_bytes, a multiple of the system's page. Throws Error(device).
  explicit PageFile(int64_t page_bytes);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  // All or nothing: throws Error(out_of_memory). The caller has made sure that the machine has the memory: beyond it,
  // the kernel kills instead of refusing.
  void create(std::span<PageId> pages);
  void destroy(std::span<const PageId> pages);
  // At addresses that reserve_addresses gave, aligned to page_bytes. All or nothing: throws Error(out_of_memory).
  void map(std::byte* data, std::span<const PageId> pages);
  // Back to addresses without access.
  void unmap(std::byte* data, int64_t bytes);
  // What the kernel counts for the file. Throws Error(io).
  int64_t measured_bytes() const;
  // Runs of neighbouring chunks behind neighbouring addresses: what the kernel counts as one mapping each.
  int64_t mappings() const { return mappings_; }

 private:
  void grow(int64_t chunks);
  void fill(int64_t chunk);
  void punch(int64_t chunk);
  void map_run(std::byte* data, int64_t first_chunk, int64_t count);
  void note_mapped(std::byte* data, int64_t chunk);
  void note_unmapped(std::byte* data);
  int64_t chunk_at(std::byte* data) const;  // -1: none

  const int64_t page_bytes_;
  int file_ = -1;
  int64_t end_ = 0;                                 // pages that the file has room for
  std::vector<int64_t> free_;                       // chunks below end_ without memory, the lowest last
  std::vector<int32_t> uses_;                       // by chunk: how often it is mapped; -1: no memory
  std::unordered_map<std::byte*, int64_t> chunks_;  // by address of the granule that it is behind
  int64_t mappings_ = 0;
};

}  // namespace tidemark
