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
//
// Two kinds of file. `tmpfs`: on a file system of its own that is mounted nowhere and asks for huge pages; its size is
// a limit that the kernel keeps to the byte; needs the right to mount. `memfd`: an anonymous file, sealed so that its
// size stays; the small pages of new chunks are collapsed into huge ones in one call. `automatic` is the first that the
// kernel gives.
//
// The file is its process's alone: its mappings are shared ones, so a forked child would write into its parent's pages
// and give them back. A child has none of the mappings (a touch is a fault) and lets the file go at once, so that its
// memory ends with the parent. There, destroy() and unmap() change the books alone (something else may lie at the
// addresses), and what needs the file throws Error(device).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "device/after_fork.h"
#include "device/device_memory.h"

namespace tidemark {

enum class PageFileKind : uint8_t { automatic, tmpfs, memfd };

std::string_view to_string(PageFileKind kind);

class PageFile {
 public:
  // Chunks of page_bytes, a multiple of the system's page; max_bytes in all, which costs nothing until it is created.
  // Throws Error(device) if the kernel does not give the kind.
  PageFile(int64_t page_bytes, int64_t max_bytes, PageFileKind kind = PageFileKind::automatic);
  ~PageFile();
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  // What it is, never automatic; why it is not the first choice, if so.
  PageFileKind kind() const { return kind_; }
  const std::string& why() const { return why_; }

  // All or nothing: throws Error(out_of_memory). The caller has made sure that the machine has the memory: beyond it,
  // the kernel kills instead of refusing.
  void create(std::span<PageId> pages);
  void destroy(std::span<const PageId> pages);
  // At addresses that reserve_addresses gave, aligned to page_bytes. All or nothing: throws Error(out_of_memory).
  void map(std::byte* data, std::span<const PageId> pages);
  // Back to addresses without access.
  void unmap(std::byte* data, int64_t bytes);
  // Fills pages that are there, mapped or not, with one byte.
  void fill(std::span<const PageId> pages, uint8_t value);
  // True in a forked child.
  bool dropped() const { return file_ < 0; }
  // What the kernel counts for the file. Throws Error(io).
  int64_t measured_bytes() const;
  // Runs of neighbouring chunks behind neighbouring addresses: what the kernel counts as one mapping each.
  int64_t mappings() const { return mappings_; }

 private:
  void close_file() noexcept;
  void check_not_dropped() const;
  int64_t take_chunk();
  void allocate(int64_t chunk);
  void punch(int64_t chunk);
  void collapse(std::span<const PageId> pages);
  void unmap_addresses(std::byte* data, int64_t bytes);
  void map_run(std::byte* data, int64_t first_chunk, int64_t count);
  void note_mapped(std::byte* data, int64_t chunk);
  void note_unmapped(std::byte* data);
  int64_t chunk_at(std::byte* data) const;  // -1: none
  bool begins_mapping(std::byte* data, int64_t chunk) const;

  const int64_t page_bytes_;
  const int64_t max_chunks_;
  PageFileKind kind_ = PageFileKind::automatic;
  std::string why_;
  int file_ = -1;
  // Chunks that had a page; the lowest first, because neighbours make fewer mappings.
  std::priority_queue<int64_t, std::vector<int64_t>, std::greater<>> free_;
  std::vector<int32_t> uses_;                       // by chunk that was ever used: how often it is mapped; -1: no page
  std::unordered_map<std::byte*, int64_t> chunks_;  // by address of the granule that it is behind
  int64_t mappings_ = 0;
  AfterFork after_fork_;  // last: what it drops is there
};

}  // namespace tidemark
