// Memory of one device: addresses first, pages later.
//
// reserve() gives a VirtualRange, which is addresses without pages: a touch of them is a fault, never a silent
// allocation. VirtualRange::commit() puts pages behind a part of it. A commit that returns has its pages; one that
// cannot have them throws Error(out_of_memory) with both numbers and changes nothing. It never ends in a signal.
//
// Two figures stand beside each other: committed_bytes() is this object's own book, measured_bytes() is what the kernel
// or the driver says about the same addresses. Tests hold them equal.
//
// Pages can also be had apart from addresses: create_pages() gives physical pages, one granule each, and
// VirtualRange::map() puts them behind addresses, in any order, so that scattered free pages make one contiguous range.
// A page counts once, however often it is mapped.
//
// Note [Reclaimers]
// Who keeps free pages for later (memory/pages) registers a reclaimer. When a commit or a create finds no room, the
// reclaimers are asked for what is missing, then the room is looked at once more; only then is the request refused.
// Reclaimers run on the asking thread, without a lock of this class, so they may call destroy_pages() and decommit().
//
// To add a device: derive from DeviceMemory, implement the private functions on whole granules of this process's device
// (they need no books: the base keeps them), add a row to the conformance suite (device_memory_conformance.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

enum class DeviceKind : uint8_t { cpu, cuda, sim };

std::string_view to_string(DeviceKind kind);

class DeviceMemory;

constexpr int64_t kUnknownBytes = -1;

// Who has the bytes of a device. total = free + own + foreign + what nobody is known to have.
struct DeviceUse {
  int64_t total_bytes = 0;
  int64_t free_bytes = 0;
  int64_t own_bytes = 0;                  // pages of ranges and created pages of this DeviceMemory
  int64_t foreign_bytes = kUnknownBytes;  // held by others
};

// A physical page of one device, one granule. Numbers are reused after destroy_pages().
struct PageId {
  int64_t value = -1;
  bool operator==(const PageId&) const = default;
};

// Addresses of a device, owned: the destructor gives back pages and addresses. Must not outlive its DeviceMemory.
class VirtualRange {
 public:
  VirtualRange() = default;
  VirtualRange(VirtualRange&& other) noexcept { swap(other); }
  VirtualRange& operator=(VirtualRange&& other) noexcept;
  ~VirtualRange();

  // Start of the range, aligned to the device's granularity; nullptr for an empty range.
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }
  int64_t committed_bytes() const { return committed_bytes_; }
  // As DeviceMemory::measured_bytes(), of this range alone.
  int64_t measured_bytes() const;

  // Puts pages behind [offset, offset + bytes); both multiples of the granularity. Granules that have pages keep them
  // and their contents; new ones read as zeros on the host and as anything on other devices. All or nothing.
  void commit(int64_t offset, int64_t bytes);
  // Gives pages back; their contents are lost. Granules without pages are skipped.
  void decommit(int64_t offset, int64_t bytes);

  // Puts pages behind the granules from offset on, one each; none of them may have one already. The pages stay their
  // creator's and must outlive the mapping. All or nothing: throws Error(out_of_memory) if the device has no more
  // mappings to give.
  void map(int64_t offset, std::span<const PageId> pages);
  // Takes mapped pages away from [offset, offset + bytes); granules without are skipped. The pages keep their contents.
  void unmap(int64_t offset, int64_t bytes);
  int64_t mapped_bytes() const { return mapped_bytes_; }

 private:
  friend class DeviceMemory;
  VirtualRange(DeviceMemory& memory, std::byte* data, int64_t bytes, size_t granules);
  void swap(VirtualRange& other) noexcept;

  DeviceMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t committed_bytes_ = 0;
  int64_t mapped_bytes_ = 0;
  std::vector<bool> committed_;  // one entry per granule: has pages of its own
  std::vector<bool> mapped_;     // the same: has a page of create_pages()
};

// Thread-safe, but for two threads at one VirtualRange.
class DeviceMemory {
 public:
  DeviceMemory(DeviceKind kind, std::string name) : kind_(kind), name_(std::move(name)) {}
  virtual ~DeviceMemory() = default;
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  DeviceKind kind() const { return kind_; }
  const std::string& name() const { return name_; }  // "cpu", "cuda:0", "sim:NAME"

  // Bytes of the whole device, whoever uses them.
  virtual int64_t capacity_bytes() const = 0;
  // Bytes that nobody uses now.
  virtual int64_t free_bytes() const = 0;
  // Bytes that others hold, measured on their own and never as a remainder: on the host by the other processes of the
  // machine (reads /proc: milliseconds), on CUDA those of the device, on sim the device's other clients. kUnknownBytes
  // where nobody can tell.
  virtual int64_t foreign_bytes() const { return kUnknownBytes; }
  // The figures together, from one moment where the device can tell them so (sim).
  virtual DeviceUse use() const;
  // How much of it commits may take; a device can keep some for others.
  virtual int64_t committable_bytes() const { return free_bytes(); }
  // Pages come in multiples of this, and ranges start at multiples of it.
  virtual int64_t granularity_bytes() const = 0;
  // Addresses for bytes, rounded up to the granularity. Throws Error(out_of_memory) if there are none.
  VirtualRange reserve(int64_t bytes);

  // Physical pages without addresses. All or nothing: throws Error(out_of_memory) with both numbers and nothing
  // changed.
  void create_pages(std::span<PageId> pages);
  // Gives pages back; they must be mapped nowhere (TM_CHECK where the device can tell). Throws Error(device).
  void destroy_pages(std::span<const PageId> pages);
  int64_t created_bytes() const { return created_bytes_; }

  // See Note [Reclaimers]. Asked for at least so many bytes, returns how many it gave back to the device.
  using Reclaimer = std::function<int64_t(int64_t bytes)>;
  // The number to remove it by. Thread-safe; must be removed before what it refers to ends.
  int64_t add_reclaimer(Reclaimer reclaimer);
  void remove_reclaimer(int64_t number);

  // Commits beyond it are refused. What is committed already stays.
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }
  int64_t limit_bytes() const { return limit_bytes_; }

  // Pages of ranges and created pages, mapped or not.
  int64_t committed_bytes() const { return committed_bytes_; }
  int64_t peak_committed_bytes() const { return peak_committed_bytes_; }
  // Bytes of pages behind all ranges and of created pages, asked from the kernel or the driver. Slow (milliseconds).
  // Throws Error(io or device).
  int64_t measured_bytes() const;
  // Calls that asked the device for addresses or pages, and calls that gave some back, since the start.
  int64_t alloc_calls() const { return alloc_calls_; }
  int64_t free_calls() const { return free_calls_; }

  // bytes, rounded up to the granularity.
  int64_t round_up(int64_t bytes) const;

 private:
  friend class VirtualRange;
  friend class DeviceShare;  // forwards to the functions of its whole device

  // Addresses without pages, aligned to the granularity. Throws Error(out_of_memory).
  virtual std::byte* reserve_addresses(int64_t bytes) = 0;
  // Takes back what reserve_addresses gave; no pages are behind it any more.
  virtual void release_addresses(std::byte* data, int64_t bytes) = 0;
  // Pages for granules that have none. All or nothing: throws Error(out_of_memory) with nothing changed.
  virtual void commit_pages(std::byte* data, int64_t bytes) = 0;
  // Takes pages away from granules that all have some. Throws Error(device).
  virtual void decommit_pages(std::byte* data, int64_t bytes) = 0;
  // Bytes of the pages that commit_pages() put behind these addresses, asked from the kernel or the driver.
  virtual int64_t measure_pages(const std::byte* data, int64_t bytes) const = 0;

  // All or nothing, as commit_pages.
  virtual void create_physical(std::span<PageId> pages) = 0;
  virtual void destroy_physical(std::span<const PageId> pages) = 0;
  // Puts pages behind addresses that have none, one granule each. All or nothing: throws Error(out_of_memory).
  virtual void map_physical(std::byte* data, std::span<const PageId> pages) = 0;
  // Takes them away again from granules that all have one; a touch is a fault then.
  virtual void unmap_physical(std::byte* data, int64_t bytes) = 0;
  // Bytes of all pages of create_physical(), asked from the kernel or the driver.
  virtual int64_t measure_physical() const = 0;

  // Half-open range of granule numbers.
  struct Granules {
    size_t first;
    size_t last;
  };

  Granules granules_of(const VirtualRange& range, int64_t offset, int64_t bytes) const;
  // Bytes that are missing for so many more, 0 if there is room.
  int64_t shortfall(int64_t bytes) const;
  void check_room(int64_t bytes) const;
  // Asks the reclaimers until there is room or they have no more; called without the mutex.
  virtual void make_room(int64_t bytes);
  // Asks the reclaimers one after the other for so many bytes in all; returns how many came back.
  int64_t reclaim(int64_t bytes);
  int64_t missing_bytes(const VirtualRange& range, Granules granules) const;
  void count_committed(int64_t bytes);
  void create_step(std::span<PageId> pages);
  void destroy_step(std::span<const PageId> pages);
  void map(VirtualRange& range, int64_t offset, std::span<const PageId> pages);
  void unmap(VirtualRange& range, int64_t offset, int64_t bytes);
  void commit(VirtualRange& range, int64_t offset, int64_t bytes);
  void commit_granules(VirtualRange& range, Granules granules);
  void decommit(VirtualRange& range, int64_t offset, int64_t bytes);
  void decommit_granules(VirtualRange& range, Granules granules);
  void release(VirtualRange& range) noexcept;

  const DeviceKind kind_;
  const std::string name_;
  mutable std::mutex mutex_;              // the check for room and the commit after it are one
  std::map<std::byte*, int64_t> ranges_;  // bytes by start
  std::atomic<int64_t> limit_bytes_{std::numeric_limits<int64_t>::max()};
  std::atomic<int64_t> committed_bytes_{0};
  std::atomic<int64_t> peak_committed_bytes_{0};
  std::atomic<int64_t> created_bytes_{0};  // part of committed_bytes_
  std::mutex reclaimers_mutex_;            // held while one runs, so that none is removed under it
  std::map<int64_t, Reclaimer> reclaimers_;
  int64_t next_reclaimer_ = 0;
  std::atomic<int64_t> alloc_calls_{0};
  std::atomic<int64_t> free_calls_{0};
};

}  // namespace tidemark
