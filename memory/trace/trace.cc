#include "memory/trace/trace.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace tidemark::memory {
namespace {

// Keeps every sum and alignment of two quantities inside int64_t.
constexpr int64_t kLimit = int64_t{1} << 62;

[[noreturn]] void refuse(const Trace& trace, const Buffer& buffer, const std::string& what) {
  throw Error(ErrorCode::data, trace.name + ": buffer " + std::to_string(buffer.id) + ": " + what);
}

void check_bytes(const Trace& trace, const Buffer& buffer) {
  if (buffer.bytes <= 0) refuse(trace, buffer, "bytes is " + std::to_string(buffer.bytes) + ", must be > 0");
  if (buffer.bytes > kLimit) refuse(trace, buffer, "bytes is " + std::to_string(buffer.bytes) + ", limit is 2^62");
  const int64_t alignment = buffer.alignment;
  if (alignment <= 0 || (alignment & (alignment - 1)) != 0 || alignment > kLimit) {
    refuse(trace, buffer, "alignment is " + std::to_string(alignment) + ", must be a power of two up to 2^62");
  }
  if (!buffer.fixed_offset) return;
  const int64_t offset = *buffer.fixed_offset;
  if (offset < 0) refuse(trace, buffer, "fixed offset " + std::to_string(offset) + " is negative, must be >= 0");
  if (offset > kLimit - buffer.bytes) {
    refuse(trace, buffer, "fixed offset " + std::to_string(offset) + " + bytes is beyond 2^62");
  }
  if (offset % alignment != 0) {
    refuse(trace, buffer,
           "fixed offset " + std::to_string(offset) + " is no multiple of its alignment " + std::to_string(alignment));
  }
}

std::string text(const Interval& interval) {
  return "[" + std::to_string(interval.begin) + ", " + std::to_string(interval.end) + ")";
}

void check_intervals(const Trace& trace, const Buffer& buffer) {
  if (buffer.intervals.empty()) refuse(trace, buffer, "has no lifetime");
  for (size_t i = 0; i < buffer.intervals.size(); ++i) {
    const Interval& interval = buffer.intervals[i];
    if (interval.begin >= interval.end) refuse(trace, buffer, "lifetime " + text(interval) + " is empty");
    if (interval.begin < -kLimit || interval.end > kLimit) {
      refuse(trace, buffer, "lifetime " + text(interval) + " is beyond 2^62");
    }
    if (i > 0 && interval.begin < buffer.intervals[i - 1].end) {
      refuse(trace, buffer, "lifetime " + text(interval) + " is not after " + text(buffer.intervals[i - 1]));
    }
  }
}

void check_total(const Trace& trace) {
  int64_t total = 0;
  for (const Buffer& buffer : trace.buffers) {
    const int64_t rounded = (buffer.bytes + buffer.alignment - 1) & -buffer.alignment;
    if (rounded > kLimit - total) refuse(trace, buffer, "the bytes of all buffers up to here add up to more than 2^62");
    total += rounded;
  }
}

struct Event {
  int64_t step;
  bool begins;
  size_t buffer;
  // Ends come first: lifetimes are half-open.
  bool operator<(const Event& other) const {
    if (step != other.step) return step < other.step;
    if (begins != other.begins) return !begins;
    return buffer < other.buffer;
  }
};

template <class Wanted>
std::vector<Event> sorted_events(const Trace& trace, Wanted wanted) {
  std::vector<Event> events;
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    if (!wanted(trace.buffers[i])) continue;
    for (const Interval& interval : trace.buffers[i].intervals) {
      events.push_back({interval.begin, true, i});
      events.push_back({interval.end, false, i});
    }
  }
  std::sort(events.begin(), events.end());
  return events;
}

bool may_coincide(const Buffer& a, const Buffer& b) {
  return a.alias_group && a.alias_group == b.alias_group && a.fixed_offset == b.fixed_offset;
}

// The live fixed buffers, by offset; they are disjoint but for members of one group at one offset.
using LiveFixed = std::multimap<int64_t, size_t>;

void check_against_live(const Trace& trace, const LiveFixed& live, const Buffer& buffer) {
  const auto clash_with = [&](size_t other_index) {
    const Buffer& other = trace.buffers[other_index];
    const bool overlap = *other.fixed_offset < *buffer.fixed_offset + buffer.bytes &&
                         *buffer.fixed_offset < *other.fixed_offset + other.bytes;
    if (!overlap || may_coincide(buffer, other)) return;
    refuse(trace, buffer,
           "fixed offset " + std::to_string(*buffer.fixed_offset) + " overlaps buffer " + std::to_string(other.id) +
               " at fixed offset " + std::to_string(*other.fixed_offset) + ", live at the same step");
  };
  const auto at = live.lower_bound(*buffer.fixed_offset);
  for (auto it = at; it != live.end() && it->first < *buffer.fixed_offset + buffer.bytes; ++it) clash_with(it->second);
  if (at == live.begin()) return;
  const int64_t below = std::prev(at)->first;
  for (auto it = live.lower_bound(below); it != at; ++it) clash_with(it->second);
}

void check_fixed_overlaps(const Trace& trace) {
  LiveFixed live;
  for (const Event& event : sorted_events(trace, [](const Buffer& b) { return b.fixed_offset.has_value(); })) {
    const Buffer& buffer = trace.buffers[event.buffer];
    if (event.begins) {
      check_against_live(trace, live, buffer);
      live.emplace(*buffer.fixed_offset, event.buffer);
      continue;
    }
    auto it = live.lower_bound(*buffer.fixed_offset);
    while (it->second != event.buffer) ++it;
    live.erase(it);
  }
}

// Live bytes while events pass: a group counts as its largest live member.
class LiveBytes {
 public:
  void pass(const Buffer& buffer, bool begins) {
    if (!buffer.alias_group) {
      bytes_ += begins ? buffer.bytes : -buffer.bytes;
      return;
    }
    std::multiset<int64_t>& members = groups_[*buffer.alias_group];
    bytes_ -= members.empty() ? 0 : *members.rbegin();
    if (begins) {
      members.insert(buffer.bytes);
    } else {
      members.erase(members.find(buffer.bytes));
    }
    bytes_ += members.empty() ? 0 : *members.rbegin();
  }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_ = 0;
  std::unordered_map<int64_t, std::multiset<int64_t>> groups_;
};

}  // namespace

void validate(const Trace& trace) {
  std::unordered_set<int64_t> ids;
  for (const Buffer& buffer : trace.buffers) {
    check_bytes(trace, buffer);
    check_intervals(trace, buffer);
    if (!ids.insert(buffer.id).second) refuse(trace, buffer, "id appears twice");
  }
  check_total(trace);
  check_fixed_overlaps(trace);
}

int64_t end_step(const Trace& trace) {
  if (trace.buffers.empty()) return 0;
  int64_t end = std::numeric_limits<int64_t>::min();
  for (const Buffer& buffer : trace.buffers) end = std::max(end, buffer.intervals.back().end);
  return end;
}

std::vector<ProfilePoint> live_profile(const Trace& trace) {
  const std::vector<Event> events = sorted_events(trace, [](const Buffer&) { return true; });
  std::vector<ProfilePoint> profile;
  LiveBytes live;
  int64_t last_bytes = 0;
  for (size_t i = 0; i < events.size(); ++i) {
    live.pass(trace.buffers[events[i].buffer], events[i].begins);
    const bool last_of_step = i + 1 == events.size() || events[i + 1].step != events[i].step;
    if (!last_of_step || live.bytes() == last_bytes) continue;
    last_bytes = live.bytes();
    profile.push_back({events[i].step, last_bytes});
  }
  return profile;
}

int64_t max_live_bytes(const Trace& trace) {
  int64_t peak = 0;
  for (const ProfilePoint& point : live_profile(trace)) peak = std::max(peak, point.bytes);
  return peak;
}

}  // namespace tidemark::memory
