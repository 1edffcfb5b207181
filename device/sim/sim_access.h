// Which addresses of a simulated device have pages, for work that executes late.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <span>

namespace tidemark {

struct AddressRange {
  const void* data = nullptr;
  int64_t bytes = 0;
};

// Thread-safe. Addresses that are not the device's are always accessible: they are the host's.
class SimAccess {
 public:
  explicit SimAccess(int64_t granule_bytes) : granule_bytes_(granule_bytes) {}

  void add_addresses(const std::byte* data, int64_t bytes);
  void remove_addresses(const std::byte* data);
  // Of whole granules.
  void add_pages(const std::byte* data, int64_t bytes);
  void remove_pages(const std::byte* data, int64_t bytes);

  // Runs `work` if all ranges are accessible; none of them loses its pages meanwhile. False, and nothing run, if not.
  bool run(std::span<const AddressRange> ranges, const std::function<void()>& work) const;

 private:
  bool accessible(const AddressRange& range) const;

  const int64_t granule_bytes_;
  mutable std::mutex mutex_;
  std::map<const std::byte*, int64_t> addresses_;  // bytes by start
  std::set<const std::byte*> granules_;            // that have a page
};

}  // namespace tidemark
