#include "memory/allocator/allocator_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/bytes.h"

namespace tidemark::memory {
namespace {

std::string largest_categories(const AllocatorStats& stats) {
  std::vector<int> order(kCategoryCount);
  std::iota(order.begin(), order.end(), 0);
  const auto bytes = [&](int i) { return stats.allocated_by_category[static_cast<size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return bytes(a) > bytes(b); });
  std::string text;
  for (int i = 0; i < 3 && bytes(order[static_cast<size_t>(i)]) > 0; ++i) {
    const int category = order[static_cast<size_t>(i)];
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", to_string(static_cast<Category>(category)),
                        format_bytes(bytes(category)));
  }
  return text.empty() ? "nobody" : text;
}

std::string largest_blocks(std::vector<LiveBlock> live) {
  const size_t shown = std::min<size_t>(3, live.size());
  std::partial_sort(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(shown), live.end(),
                    [](const LiveBlock& a, const LiveBlock& b) { return a.bytes > b.bytes; });
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", format_bytes(live[i].bytes), to_string(live[i].category));
  }
  return text.empty() ? "none" : text;
}

std::string budget_text(const DeviceMemory& device) {
  return device.limit_bytes() == std::numeric_limits<int64_t>::max() ? "none" : format_bytes(device.limit_bytes());
}

void line(std::string& out, std::string_view name, int64_t bytes, int64_t peak_bytes = -1) {
  fmt::format_to(std::back_inserter(out), "{:<14}{:>16}{:>12}", name, bytes, format_bytes(bytes));
  if (peak_bytes >= 0) fmt::format_to(std::back_inserter(out), "{:>16}{:>12}", peak_bytes, format_bytes(peak_bytes));
  out += '\n';
}

}  // namespace

std::string describe_refusal(const AllocationRequest& request, int64_t missing_bytes, const AllocatorStats& stats,
                             const std::vector<LiveBlock>& live, const DeviceMemory& device) {
  return fmt::format(
      "device '{}' cannot give {} for {}: {} are missing; device-free {}, allocated {}, reserved {}, cached {}, "
      "pending {}, slack {}, budget {}, committed {}; largest users: {}; largest blocks: {}; {}, lower the batch, "
      "or free blocks",
      device.name(), format_bytes(request.bytes), to_string(request.category), format_bytes(missing_bytes),
      format_bytes(stats.device_free_bytes), format_bytes(stats.allocated_bytes), format_bytes(stats.reserved_bytes),
      format_bytes(stats.cached_bytes), format_bytes(stats.pending_bytes), format_bytes(stats.slack_bytes),
      budget_text(device), format_bytes(device.committed_bytes()), largest_categories(stats), largest_blocks(live),
      device.limit_bytes() < device.capacity_bytes() ? "raise memory.budget" : "stop other programs");
}

std::string memory_summary(const AllocatorStats& stats) {
  std::string out = fmt::format("{:<14}{:>16}{:>12}{:>16}{:>12}\n", "memory", "bytes", "", "peak", "");
  line(out, "requested", stats.requested_bytes, stats.requested_peak_bytes);
  line(out, "allocated", stats.allocated_bytes, stats.allocated_peak_bytes);
  for (int i = 0; i < kCategoryCount; ++i) {
    const int64_t bytes = stats.allocated_by_category[static_cast<size_t>(i)];
    if (bytes > 0) line(out, fmt::format("  {}", to_string(static_cast<Category>(i))), bytes);
  }
  line(out, "cached", stats.cached_bytes);
  line(out, "pending", stats.pending_bytes);
  line(out, "slack", stats.slack_bytes);
  line(out, "reserved", stats.reserved_bytes, stats.reserved_peak_bytes);
  line(out, "device-free", stats.device_free_bytes);
  line(out, "largest free", stats.largest_free_block_bytes);
  fmt::format_to(std::back_inserter(out), "blocks {}, calls {}, hits {}, retries {}, refused {}\n", stats.live_blocks,
                 stats.allocations, stats.hits, stats.retries, stats.out_of_memory);
  return out;
}

std::string find_fault(const AllocatorStats& stats, int64_t page_bytes) {
  const int64_t sum =
      std::accumulate(stats.allocated_by_category.begin(), stats.allocated_by_category.end(), int64_t{0});
  const int64_t parts = stats.allocated_bytes + stats.cached_bytes + stats.pending_bytes + stats.slack_bytes;
  if (sum != stats.allocated_bytes) return fmt::format("categories {}, allocated {}", sum, stats.allocated_bytes);
  if (parts != stats.reserved_bytes) return fmt::format("parts {}, reserved {}", parts, stats.reserved_bytes);
  if (stats.slack_bytes < 0) return fmt::format("slack {}", stats.slack_bytes);
  if (stats.allocated_bytes < stats.requested_bytes) return "allocated is below requested";
  if (stats.allocated_bytes - stats.requested_bytes >=
      stats.live_blocks * kAllocationAlignment + (stats.live_blocks == 0))
    return "allocated is too far above requested";
  if ((stats.reserved_bytes | stats.cached_bytes | stats.pending_bytes) % page_bytes != 0) return "parts of pages";
  if (stats.allocated_peak_bytes < stats.allocated_bytes || stats.reserved_peak_bytes < stats.reserved_bytes ||
      stats.requested_peak_bytes < stats.requested_bytes)
    return "a peak is below its figure";
  return "";
}

EmptiedCache empty_cache(Allocator& allocator) {
  EmptiedCache emptied;
  emptied.released_bytes = allocator.trim(0);
  const AllocatorStats stats = allocator.stats();
  emptied.live_by_category = stats.allocated_by_category;
  emptied.slack_bytes = stats.slack_bytes;
  emptied.pending_bytes = stats.pending_bytes;
  emptied.cached_bytes = stats.cached_bytes;
  return emptied;
}

}  // namespace tidemark::memory
