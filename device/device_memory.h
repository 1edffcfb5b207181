// Memory of one device: addresses first, pages later.
//
// reserve() gives a VirtualRange, which is addresses without pages: a touch of them is a fault, never a silent
// allocation. VirtualRange::commit() puts pages behind a part of it. A commit that returns has its pages; one that
// cannot have them throws Error(out_of_memory) with both numbers and changes nothing. It never ends in a signal.
//
// Two figures stand beside each other: committed_bytes() is this object's own book, measured_bytes() is what the kernel
// or the driver says about the same addresses. Tests hold them equal.
//
// To add a device: derive from DeviceMemory, implement the private functions on whole granules of this process's device
// (they need no books: the base keeps them), add a row to the conformance suite (device_memory_conformance.h).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark {

enum class DeviceKind : uint8_t { cpu, cuda, sim };

std::string_view to_string(DeviceKind kind);

class DeviceMemory;

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

 private:
  friend class DeviceMemory;
  VirtualRange(DeviceMemory& memory, std::byte* data, int64_t bytes, size_t granules);
  void swap(VirtualRange& other) noexcept;

  DeviceMemory* memory_ = nullptr;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
  int64_t committed_bytes_ = 0;
  std::vector<bool> committed_;  // one entry per granule
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
  // How much of it commits may take; a device can keep some for others.
  virtual int64_t committable_bytes() const { return free_bytes(); }
  // Pages come in multiples of this, and ranges start at multiples of it.
  virtual int64_t granularity_bytes() const = 0;
  // Addresses for bytes, rounded up to the granularity. Throws Error(out_of_memory) if there are none.
  VirtualRange reserve(int64_t bytes);

  // Commits beyond it are refused. What is committed already stays.
  void set_limit_bytes(int64_t bytes) { limit_bytes_ = bytes; }
  int64_t limit_bytes() const { return limit_bytes_; }

  int64_t committed_bytes() const { return committed_bytes_; }
  int64_t peak_committed_bytes() const { return peak_committed_bytes_; }
  // Bytes of pages behind all ranges, asked from the kernel or the driver. Slow (milliseconds). Throws Error(io or
  // device).
  int64_t measured_bytes() const;
  // Calls that asked the device for addresses or pages, and calls that gave some back, since the start.
  int64_t alloc_calls() const { return alloc_calls_; }
  int64_t free_calls() const { return free_calls_; }

  // bytes, rounded up to the granularity.
  int64_t round_up(int64_t bytes) const;

 private:
  friend class VirtualRange;

  // Addresses without pages, aligned to the granularity. Throws Error(out_of_memory).
  virtual std::byte* reserve_addresses(int64_t bytes) = 0;
  // Takes back what reserve_addresses gave; no pages are behind it any more.
  virtual void release_addresses(std::byte* data, int64_t bytes) = 0;
  // Pages for granules that have none. All or nothing: throws Error(out_of_memory) with nothing changed.
  virtual void commit_pages(std::byte* data, int64_t bytes) = 0;
  // Takes pages away from granules that all have some. Throws Error(device).
  virtual void decommit_pages(std::byte* data, int64_t bytes) = 0;
  // Bytes of the pages behind these addresses, asked from the kernel or the driver.
  virtual int64_t measure_pages(const std::byte* data, int64_t bytes) const = 0;

  // Half-open range of granule numbers.
  struct Granules {
    size_t first;
    size_t last;
  };

  Granules granules_of(const VirtualRange& range, int64_t offset, int64_t bytes) const;
  void check_room(int64_t bytes) const;
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
  std::atomic<int64_t> alloc_calls_{0};
  std::atomic<int64_t> free_calls_{0};
};

}  // namespace tidemark
