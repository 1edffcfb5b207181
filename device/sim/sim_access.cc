#include "device/sim/sim_access.h"

#include <algorithm>
#include <iterator>

namespace tidemark {

void SimAccess::add_addresses(const std::byte* data, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  addresses_[data] = bytes;
}

void SimAccess::remove_addresses(const std::byte* data) {
  const std::lock_guard lock(mutex_);
  addresses_.erase(data);
}

void SimAccess::add_pages(const std::byte* data, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  for (int64_t at = 0; at < bytes; at += granule_bytes_) granules_.insert(data + at);
}

void SimAccess::remove_pages(const std::byte* data, int64_t bytes) {
  const std::lock_guard lock(mutex_);
  granules_.erase(granules_.lower_bound(data), granules_.lower_bound(data + bytes));
}

bool SimAccess::accessible(const AddressRange& range) const {
  const auto* const begin = static_cast<const std::byte*>(range.data);
  const std::byte* const end = begin + range.bytes;
  // Ranges do not overlap, so those that touch [begin, end) follow one another.
  auto reserved = addresses_.upper_bound(begin);
  if (reserved != addresses_.begin()) --reserved;
  for (; reserved != addresses_.end() && reserved->first < end; ++reserved) {
    const std::byte* const start = reserved->first;
    if (start + reserved->second <= begin) continue;
    const int64_t first = std::max<int64_t>(0, begin - start) / granule_bytes_ * granule_bytes_;
    const int64_t last = std::min<int64_t>(reserved->second, end - start);
    for (int64_t at = first; at < last; at += granule_bytes_) {
      if (granules_.count(start + at) == 0) return false;
    }
  }
  return true;
}

bool SimAccess::run(std::span<const AddressRange> ranges, const std::function<void()>& work) const {
  const std::lock_guard lock(mutex_);
  if (!std::all_of(ranges.begin(), ranges.end(), [&](const AddressRange& r) { return accessible(r); })) return false;
  work();
  return true;
}

}  // namespace tidemark
