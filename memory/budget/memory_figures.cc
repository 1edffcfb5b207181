#include "memory/budget/memory_figures.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/file.h"

namespace tidemark::memory {
namespace {

// "RssAnon:      1234 kB" of /proc/self/status, in bytes; 0 if the kernel has no such line.
int64_t status_bytes(const std::string& status, std::string_view name) {
  const size_t at = status.find(name);
  return at == std::string::npos ? 0 : std::strtoll(status.c_str() + at + name.size(), nullptr, 10) << 10;
}

int64_t anonymous_bytes() {
  const std::string status = read_file("/proc/self/status");
  return status_bytes(status, "\nRssAnon:") + status_bytes(status, "\nVmSwap:");
}

// Pages of ranges are anonymous memory of the process on the host and on sim; created pages are a file's.
int64_t anonymous_device_bytes(const DeviceMemory& device) {
  return device.kind() == DeviceKind::cuda ? 0 : device.committed_bytes() - device.created_bytes();
}

}  // namespace

int64_t sum(const CategoryBytes& bytes) {
  int64_t total = 0;
  for (int64_t b : bytes) total += b;
  return total;
}

MemoryBooks& MemoryBooks::operator+=(const MemoryBooks& other) {
  for (size_t c = 0; c < allocated.size(); ++c) allocated[c] += other.allocated[c];
  reserved_bytes += other.reserved_bytes;
  cached_bytes += other.cached_bytes;
  slack_bytes += other.slack_bytes;
  largest_free_block_bytes = std::max(largest_free_block_bytes, other.largest_free_block_bytes);
  retries += other.retries;
  out_of_memory += other.out_of_memory;
  return *this;
}

MemoryBooks books_of(const AllocatorStats& stats) {
  return {.allocated = stats.allocated_by_category,
          .reserved_bytes = stats.reserved_bytes,
          .cached_bytes = stats.cached_bytes + stats.pending_bytes,
          .slack_bytes = stats.slack_bytes,
          .largest_free_block_bytes = stats.largest_free_block_bytes,
          .retries = stats.retries,
          .out_of_memory = stats.out_of_memory};
}

MemoryBooks books_of_pages(const CategoryBytes& live, int64_t reserved_bytes) {
  return {.allocated = live, .reserved_bytes = reserved_bytes};
}

MemoryFigures read_figures(const DeviceMemory& device, const MemoryBooks& books) {
  return read_figures(device, books, device.use());
}

MemoryFigures read_figures(const DeviceMemory& device, const MemoryBooks& books, const DeviceUse& use) {
  MemoryFigures figures{.books = books, .kind = device.kind(), .device = use, .alloc_calls = device.alloc_calls()};
  figures.unbooked_bytes = use.own_bytes - books.reserved_bytes;
  figures.unattributed_bytes = use.foreign_bytes == kUnknownBytes
                                   ? figures.unbooked_bytes
                                   : use.total_bytes - use.free_bytes - use.foreign_bytes - books.reserved_bytes;
  figures.host_bytes = std::max<int64_t>(0, anonymous_bytes() - anonymous_device_bytes(device));
  return figures;
}

GrowthSample growth_sample(const MemoryFigures& figures) {
  return {.allocated = figures.books.allocated,
          .reserved_bytes = figures.device.own_bytes,
          .unattributed_bytes = figures.kind == DeviceKind::cpu ? figures.unbooked_bytes : figures.unattributed_bytes,
          .host_bytes = figures.host_bytes};
}

}  // namespace tidemark::memory
