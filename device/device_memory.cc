#include "device/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "base/log.h"

namespace tidemark {
namespace {

// Free memory is looked at again after so many bytes: neighbours take some meanwhile.
constexpr int64_t kCommitStepBytes = int64_t{64} << 20;

// Sums of a few of these still fit into 64 bits.
constexpr int64_t kMostAddressBytes = int64_t{1} << 60;

// Half-open ranges of granules in [first, last) whose committed state is `state`, as long as they get.
std::vector<std::pair<size_t, size_t>> runs_of(const std::vector<bool>& committed, bool state, size_t first,
                                               size_t last) {
  std::vector<std::pair<size_t, size_t>> runs;
  for (size_t i = first; i < last; ++i) {
    if (committed[i] != state) continue;
    if (!runs.empty() && runs.back().second == i) {
      ++runs.back().second;
    } else {
      runs.emplace_back(i, i + 1);
    }
  }
  return runs;
}

}  // namespace

std::string_view to_string(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::cpu:
      return "cpu";
    case DeviceKind::cuda:
      return "cuda";
    case DeviceKind::sim:
      return "sim";
  }
  TM_CHECK(false, "unknown DeviceKind");
}

VirtualRange::VirtualRange(DeviceMemory& memory, std::byte* data, int64_t bytes, size_t granules)
    : memory_(&memory), data_(data), bytes_(bytes), committed_(granules), mapped_(granules) {}

VirtualRange& VirtualRange::operator=(VirtualRange&& other) noexcept {
  VirtualRange taken(std::move(other));
  swap(taken);
  return *this;
}

VirtualRange::~VirtualRange() {
  if (data_) memory_->release(*this);
}

void VirtualRange::swap(VirtualRange& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(committed_bytes_, other.committed_bytes_);
  std::swap(mapped_bytes_, other.mapped_bytes_);
  committed_.swap(other.committed_);
  mapped_.swap(other.mapped_);
}

int64_t VirtualRange::measured_bytes() const {
  if (!data_) return 0;
  const std::lock_guard lock(memory_->mutex_);
  return memory_->measure_pages(data_, bytes_);
}

void VirtualRange::commit(int64_t offset, int64_t bytes) {
  TM_CHECK(data_, "commit in an empty range");
  memory_->commit(*this, offset, bytes);
}

void VirtualRange::decommit(int64_t offset, int64_t bytes) {
  TM_CHECK(data_, "decommit in an empty range");
  memory_->decommit(*this, offset, bytes);
}

void VirtualRange::map(int64_t offset, std::span<const PageId> pages) {
  TM_CHECK(data_, "map in an empty range");
  memory_->map(*this, offset, pages);
}

void VirtualRange::unmap(int64_t offset, int64_t bytes) {
  TM_CHECK(data_, "unmap in an empty range");
  memory_->unmap(*this, offset, bytes);
}

int64_t DeviceMemory::round_up(int64_t bytes) const {
  const int64_t granule = granularity_bytes();
  return (bytes + granule - 1) / granule * granule;
}

int64_t DeviceMemory::measured_bytes() const {
  const std::lock_guard lock(mutex_);
  int64_t sum = measure_physical();
  for (const auto& [data, bytes] : ranges_) sum += measure_pages(data, bytes);
  return sum;
}

DeviceUse DeviceMemory::use() const { return {capacity_bytes(), free_bytes(), committed_bytes(), foreign_bytes()}; }

VirtualRange DeviceMemory::reserve(int64_t bytes) {
  TM_CHECK(bytes > 0, fmt::format("reserve of {} bytes", bytes));
  if (bytes > kMostAddressBytes) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("device '{}' has no address range of {} ({} bytes)", name_, format_bytes(bytes), bytes));
  }
  const int64_t rounded = round_up(bytes);
  const std::lock_guard lock(mutex_);
  ++alloc_calls_;
  std::byte* data = reserve_addresses(rounded);
  ranges_[data] = rounded;
  return VirtualRange(*this, data, rounded, static_cast<size_t>(rounded / granularity_bytes()));
}

int64_t DeviceMemory::shortfall(int64_t bytes) const {
  const int64_t room = std::min(limit_bytes_ - committed_bytes_, committable_bytes());
  return std::max<int64_t>(0, bytes - room);
}

void DeviceMemory::check_room(int64_t bytes) const {
  if (bytes > limit_bytes_ - committed_bytes_) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("device '{}' is asked for {} more with {} committed, limit is {}; raise memory.budget",
                            name_, format_bytes(bytes), format_bytes(committed_bytes_), format_bytes(limit_bytes_)));
  }
  const int64_t room = committable_bytes();
  if (bytes > room) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("device '{}' is asked for {} more with {} committed, {} of {} can be had; stop other "
                            "programs or lower memory.budget",
                            name_, format_bytes(bytes), format_bytes(committed_bytes_), format_bytes(room),
                            format_bytes(capacity_bytes())));
  }
}

void DeviceMemory::make_room(int64_t bytes) {
  if (const int64_t missing = shortfall(bytes); missing > 0) reclaim(missing);
}

int64_t DeviceMemory::reclaim(int64_t bytes) {
  const std::lock_guard lock(reclaimers_mutex_);
  int64_t got = 0;
  for (const auto& [number, reclaimer] : reclaimers_) {
    if (got >= bytes) break;
    got += reclaimer(bytes - got);
  }
  return got;
}

int64_t DeviceMemory::add_reclaimer(Reclaimer reclaimer) {
  const std::lock_guard lock(reclaimers_mutex_);
  reclaimers_[next_reclaimer_] = std::move(reclaimer);
  return next_reclaimer_++;
}

void DeviceMemory::remove_reclaimer(int64_t number) {
  const std::lock_guard lock(reclaimers_mutex_);
  reclaimers_.erase(number);
}

void DeviceMemory::count_committed(int64_t bytes) {
  committed_bytes_ += bytes;
  peak_committed_bytes_ = std::max<int64_t>(peak_committed_bytes_, committed_bytes_);
}

void DeviceMemory::create_pages(std::span<PageId> pages) {
  const int64_t bytes = static_cast<int64_t>(pages.size()) * granularity_bytes();
  if (bytes == 0) return;
  make_room(bytes);
  const std::lock_guard lock(mutex_);
  check_room(bytes);
  const size_t step = static_cast<size_t>(std::max<int64_t>(1, kCommitStepBytes / granularity_bytes()));
  for (size_t at = 0; at < pages.size(); at += step) {
    const std::span<PageId> part = pages.subspan(at, std::min(step, pages.size() - at));
    try {
      if (at > 0) check_room(static_cast<int64_t>(part.size()) * granularity_bytes());
      create_step(part);
    } catch (...) {
      if (at > 0) destroy_step(pages.first(at));
      throw;
    }
  }
}

void DeviceMemory::create_step(std::span<PageId> pages) {
  const int64_t bytes = static_cast<int64_t>(pages.size()) * granularity_bytes();
  ++alloc_calls_;
  create_physical(pages);
  created_bytes_ += bytes;
  count_committed(bytes);
}

void DeviceMemory::destroy_step(std::span<const PageId> pages) {
  const int64_t bytes = static_cast<int64_t>(pages.size()) * granularity_bytes();
  ++free_calls_;
  destroy_physical(pages);
  created_bytes_ -= bytes;
  committed_bytes_ -= bytes;
}

void DeviceMemory::destroy_pages(std::span<const PageId> pages) {
  if (pages.empty()) return;
  const std::lock_guard lock(mutex_);
  destroy_step(pages);
}

void DeviceMemory::map(VirtualRange& range, int64_t offset, std::span<const PageId> pages) {
  const Granules asked = granules_of(range, offset, static_cast<int64_t>(pages.size()) * granularity_bytes());
  const std::lock_guard lock(mutex_);
  for (size_t i = asked.first; i < asked.last; ++i) {
    TM_CHECK(!range.committed_[i] && !range.mapped_[i], fmt::format("granule {} of a range has a page already", i));
  }
  if (pages.empty()) return;
  map_physical(range.data_ + offset, pages);
  std::fill(range.mapped_.begin() + asked.first, range.mapped_.begin() + asked.last, true);
  range.mapped_bytes_ += static_cast<int64_t>(pages.size()) * granularity_bytes();
}

void DeviceMemory::unmap(VirtualRange& range, int64_t offset, int64_t bytes) {
  const Granules asked = granules_of(range, offset, bytes);
  const std::lock_guard lock(mutex_);
  for (const auto& [first, last] : runs_of(range.mapped_, true, asked.first, asked.last)) {
    const int64_t run_bytes = static_cast<int64_t>(last - first) * granularity_bytes();
    unmap_physical(range.data_ + static_cast<int64_t>(first) * granularity_bytes(), run_bytes);
    std::fill(range.mapped_.begin() + first, range.mapped_.begin() + last, false);
    range.mapped_bytes_ -= run_bytes;
  }
}

DeviceMemory::Granules DeviceMemory::granules_of(const VirtualRange& range, int64_t offset, int64_t bytes) const {
  const int64_t granule = granularity_bytes();
  TM_CHECK(
      offset >= 0 && bytes >= 0 && offset % granule == 0 && bytes % granule == 0 && bytes <= range.bytes_ - offset,
      fmt::format("[{0}, {0} + {1}) in a range of {2} bytes, granules of {3}", offset, bytes, range.bytes_, granule));
  return {static_cast<size_t>(offset / granule), static_cast<size_t>((offset + bytes) / granule)};
}

int64_t DeviceMemory::missing_bytes(const VirtualRange& range, Granules granules) const {
  int64_t missing = 0;
  for (size_t i = granules.first; i < granules.last; ++i) {
    TM_CHECK(!range.mapped_[i], fmt::format("granule {} of a range has a mapped page already", i));
    if (!range.committed_[i]) missing += granularity_bytes();
  }
  return missing;
}

void DeviceMemory::commit(VirtualRange& range, int64_t offset, int64_t bytes) {
  const Granules asked = granules_of(range, offset, bytes);
  const int64_t wanted = missing_bytes(range, asked);
  if (wanted == 0) return;
  make_room(wanted);
  const std::lock_guard lock(mutex_);
  check_room(wanted);
  const auto missing = runs_of(range.committed_, false, asked.first, asked.last);
  try {
    for (const auto& [first, last] : missing) commit_granules(range, {first, last});
  } catch (...) {
    for (const auto& [first, last] : missing) {
      for (const auto& [begin, end] : runs_of(range.committed_, true, first, last))
        decommit_granules(range, {begin, end});
    }
    throw;
  }
}

void DeviceMemory::commit_granules(VirtualRange& range, Granules granules) {
  const int64_t granule = granularity_bytes();
  const size_t step = static_cast<size_t>(std::max<int64_t>(1, kCommitStepBytes / granule));
  for (size_t at = granules.first; at < granules.last; at += step) {
    const size_t end = std::min(at + step, granules.last);
    const int64_t bytes = static_cast<int64_t>(end - at) * granule;
    check_room(bytes);
    ++alloc_calls_;
    commit_pages(range.data_ + static_cast<int64_t>(at) * granule, bytes);
    std::fill(range.committed_.begin() + at, range.committed_.begin() + end, true);
    range.committed_bytes_ += bytes;
    count_committed(bytes);
  }
}

void DeviceMemory::decommit(VirtualRange& range, int64_t offset, int64_t bytes) {
  const Granules asked = granules_of(range, offset, bytes);
  const std::lock_guard lock(mutex_);
  for (const auto& [first, last] : runs_of(range.committed_, true, asked.first, asked.last)) {
    decommit_granules(range, {first, last});
  }
}

void DeviceMemory::decommit_granules(VirtualRange& range, Granules granules) {
  const int64_t granule = granularity_bytes();
  const int64_t bytes = static_cast<int64_t>(granules.last - granules.first) * granule;
  ++free_calls_;
  decommit_pages(range.data_ + static_cast<int64_t>(granules.first) * granule, bytes);
  std::fill(range.committed_.begin() + granules.first, range.committed_.begin() + granules.last, false);
  range.committed_bytes_ -= bytes;
  committed_bytes_ -= bytes;
}

void DeviceMemory::release(VirtualRange& range) noexcept {
  try {
    decommit(range, 0, range.bytes_);
    unmap(range, 0, range.bytes_);
    const std::lock_guard lock(mutex_);
    ++free_calls_;
    ranges_.erase(range.data_);
    release_addresses(range.data_, range.bytes_);
  } catch (const std::exception& e) {
    log(LogLevel::error, "device_release_failed", {{"device", name_}, {"bytes", range.bytes_}, {"reason", e.what()}});
  }
}

}  // namespace tidemark
