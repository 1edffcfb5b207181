// Planned bytes on a device: one contiguous range of addresses, with pages behind its front.
//
// Offsets of a plan (offset_planner.h) are offsets from data(). The range never moves: growing and trimming change
// which pages are there, not the addresses.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/device_memory.h"

namespace tidemark::memory {

struct ArenaOptions {
  // False: the whole capacity gets its pages in the constructor. True: ensure() gets them as they are asked for.
  bool growth = true;
};

class Arena {
 public:
  // Reserves addresses for capacity_bytes (> 0), rounded up to the device's granularity. Throws Error(out_of_memory).
  // The device must outlive the arena.
  Arena(DeviceMemory& device, int64_t capacity_bytes, ArenaOptions options = {});

  std::byte* data() const { return range_.data(); }
  int64_t capacity_bytes() const { return range_.bytes(); }

  // Pages behind [0, bytes) after it; bytes <= capacity_bytes(). Asks the device only for what is missing. Throws
  // Error(out_of_memory) with nothing changed.
  void ensure(int64_t bytes);
  // Gives back the whole pages above `bytes`; their contents are lost. More bytes than are committed: nothing happens.
  void trim(int64_t bytes);

  // Pages lie behind [0, committed_bytes()).
  int64_t committed_bytes() const { return range_.committed_bytes(); }
  int64_t peak_committed_bytes() const { return peak_committed_bytes_; }
  // Bytes of pages behind the range as the kernel or the driver counts them. Slow; equal to committed_bytes() or a bug.
  int64_t measured_bytes() const { return range_.measured_bytes(); }
  DeviceMemory& device() const { return device_; }

  // For tests of how far a program writes: fills what is committed with a byte, and finds one past the last byte that
  // differs from it (0 if none does). Host memory only.
  void fill(std::byte pattern);
  int64_t highest_touched(std::byte pattern) const;

 private:
  DeviceMemory& device_;
  VirtualRange range_;
  int64_t peak_committed_bytes_ = 0;
};

}  // namespace tidemark::memory
