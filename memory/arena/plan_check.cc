// Shares no code with the planners: a fault in their bookkeeping must not hide here.
#include <algorithm>

#include "memory/arena/offset_planner.h"

namespace tidemark::memory {
namespace {

std::string describe(const Buffer& buffer, int64_t offset) {
  return "buffer " + std::to_string(buffer.id) + " at [" + std::to_string(offset) + ", " +
         std::to_string(offset + buffer.bytes) + ")";
}

bool meet_in_time(const Buffer& a, const Buffer& b) {
  for (const Interval& x : a.intervals) {
    for (const Interval& y : b.intervals) {
      if (x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

std::string find_buffer_fault(const Buffer& buffer, int64_t offset) {
  if (offset < 0) return describe(buffer, offset) + " has no offset";
  if (offset % buffer.alignment != 0) {
    return describe(buffer, offset) + " is not aligned to " + std::to_string(buffer.alignment);
  }
  if (buffer.fixed_offset && offset != *buffer.fixed_offset) {
    return describe(buffer, offset) + " is not at its fixed offset " + std::to_string(*buffer.fixed_offset);
  }
  return "";
}

std::string find_pair_fault(const Buffer& a, int64_t a_offset, const Buffer& b, int64_t b_offset) {
  if (a_offset >= b_offset + b.bytes || b_offset >= a_offset + a.bytes) return "";
  if (a.alias_group && a.alias_group == b.alias_group && a_offset == b_offset) return "";
  if (!meet_in_time(a, b)) return "";
  return describe(a, a_offset) + " overlaps " + describe(b, b_offset);
}

// Live bytes at the begin of each interval; the maximum over all steps is among them.
int64_t live_bytes_at(const Trace& trace, int64_t step) {
  int64_t live = 0;
  std::vector<std::pair<int64_t, int64_t>> largest_of_group;
  for (const Buffer& buffer : trace.buffers) {
    const bool is_live = std::any_of(buffer.intervals.begin(), buffer.intervals.end(),
                                     [&](const Interval& i) { return i.begin <= step && step < i.end; });
    if (!is_live) continue;
    live += buffer.bytes;
    if (!buffer.alias_group) continue;
    auto group = std::find_if(largest_of_group.begin(), largest_of_group.end(),
                              [&](const auto& entry) { return entry.first == *buffer.alias_group; });
    if (group == largest_of_group.end()) {
      largest_of_group.emplace_back(*buffer.alias_group, buffer.bytes);
      continue;
    }
    live -= std::min(group->second, buffer.bytes);
    group->second = std::max(group->second, buffer.bytes);
  }
  return live;
}

std::string find_bound_fault(const Trace& trace, const OffsetPlan& plan) {
  const std::string bound = "lower bound " + std::to_string(plan.lower_bound_bytes);
  if (plan.lower_bound_bytes > plan.peak_bytes) return bound + " is above the peak " + std::to_string(plan.peak_bytes);
  if (plan.proven_optimal && plan.lower_bound_bytes != plan.peak_bytes) return bound + " differs from a proven peak";
  for (const Buffer& buffer : trace.buffers) {
    for (const Interval& interval : buffer.intervals) {
      const int64_t live = live_bytes_at(trace, interval.begin);
      if (live > plan.lower_bound_bytes) {
        return bound + " is below the " + std::to_string(live) + " live bytes of step " +
               std::to_string(interval.begin);
      }
    }
  }
  return "";
}

}  // namespace

std::string find_plan_fault(const Trace& trace, const OffsetPlan& plan) {
  const auto& buffers = trace.buffers;
  if (plan.offsets.size() != buffers.size()) {
    return std::to_string(plan.offsets.size()) + " offsets for " + std::to_string(buffers.size()) + " buffers";
  }
  int64_t peak = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (std::string fault = find_buffer_fault(buffers[i], plan.offsets[i]); !fault.empty()) return fault;
    peak = std::max(peak, plan.offsets[i] + buffers[i].bytes);
    for (size_t j = 0; j < i; ++j) {
      std::string fault = find_pair_fault(buffers[j], plan.offsets[j], buffers[i], plan.offsets[i]);
      if (!fault.empty()) return fault;
    }
  }
  if (peak != plan.peak_bytes) {
    return "peak is " + std::to_string(peak) + ", the plan says " + std::to_string(plan.peak_bytes);
  }
  return find_bound_fault(trace, plan);
}

}  // namespace tidemark::memory
