#include "device/device_share.h"

#include <algorithm>
#include <utility>

namespace tidemark {

DeviceShare::DeviceShare(DeviceMemory& whole, std::string name, int64_t limit_bytes)
    : DeviceMemory(whole.kind(), std::move(name)), whole_(whole) {
  set_limit_bytes(limit_bytes);
  reclaimer_ = whole_.add_reclaimer([this](int64_t bytes) { return reclaim(bytes); });
}

DeviceShare::~DeviceShare() { whole_.remove_reclaimer(reclaimer_); }

void DeviceShare::make_room(int64_t bytes) {
  DeviceMemory::make_room(bytes);
  whole_.make_room(bytes);
}

int64_t DeviceShare::committable_bytes() const {
  return std::min(whole_.limit_bytes() - whole_.committed_bytes(), whole_.committable_bytes());
}

DeviceUse DeviceShare::use() const {
  DeviceUse use = whole_.use();
  const int64_t own_bytes = committed_bytes();
  if (use.foreign_bytes != kUnknownBytes) use.foreign_bytes += std::max<int64_t>(0, use.own_bytes - own_bytes);
  use.own_bytes = own_bytes;
  return use;
}

std::byte* DeviceShare::reserve_addresses(int64_t bytes) {
  const std::lock_guard lock(whole_.mutex_);
  ++whole_.alloc_calls_;
  std::byte* data = whole_.reserve_addresses(bytes);
  whole_.ranges_[data] = bytes;
  return data;
}

void DeviceShare::release_addresses(std::byte* data, int64_t bytes) {
  const std::lock_guard lock(whole_.mutex_);
  ++whole_.free_calls_;
  whole_.ranges_.erase(data);
  whole_.release_addresses(data, bytes);
}

void DeviceShare::commit_pages(std::byte* data, int64_t bytes) {
  const std::lock_guard lock(whole_.mutex_);
  whole_.check_room(bytes);
  ++whole_.alloc_calls_;
  whole_.commit_pages(data, bytes);
  whole_.count_committed(bytes);
}

void DeviceShare::decommit_pages(std::byte* data, int64_t bytes) {
  const std::lock_guard lock(whole_.mutex_);
  ++whole_.free_calls_;
  whole_.decommit_pages(data, bytes);
  whole_.committed_bytes_ -= bytes;
}

int64_t DeviceShare::measure_pages(const std::byte* data, int64_t bytes) const {
  const std::lock_guard lock(whole_.mutex_);
  return whole_.measure_pages(data, bytes);
}

void DeviceShare::create_physical(std::span<PageId> pages) {
  const std::lock_guard lock(whole_.mutex_);
  whole_.check_room(static_cast<int64_t>(pages.size()) * granularity_bytes());
  whole_.create_step(pages);
}

void DeviceShare::destroy_physical(std::span<const PageId> pages) { whole_.destroy_pages(pages); }

void DeviceShare::map_physical(std::byte* data, std::span<const PageId> pages) {
  const std::lock_guard lock(whole_.mutex_);
  whole_.map_physical(data, pages);
}

void DeviceShare::unmap_physical(std::byte* data, int64_t bytes) {
  const std::lock_guard lock(whole_.mutex_);
  whole_.unmap_physical(data, bytes);
}

// The pages of all shares lie in one store that cannot tell them apart: this share's own book.
int64_t DeviceShare::measure_physical() const { return created_bytes(); }

}  // namespace tidemark
