#include "memory/arena/sectioned_trace.h"

#include <algorithm>
#include <compare>
#include <limits>
#include <set>
#include <unordered_map>

namespace tidemark::memory {
namespace {

std::vector<int64_t> distinct_steps(const Trace& trace) {
  std::vector<int64_t> steps;
  for (const Buffer& buffer : trace.buffers) {
    for (const Interval& interval : buffer.intervals) {
      steps.push_back(interval.begin);
      steps.push_back(interval.end);
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

// Where a step lies in the sorted steps; an index per interval end, looked up once.
size_t index_of(const std::vector<int64_t>& steps, int64_t step) {
  return std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
}

// sections_before[i] = sections that begin before steps[i]. A range between two steps is a section if something began
// since the last section and something ends right after it: only there the live set is maximal.
std::vector<int32_t> count_sections(const Trace& trace, const std::vector<int64_t>& steps) {
  std::vector<char> begins(steps.size(), 0), ends(steps.size(), 0);
  for (const Buffer& buffer : trace.buffers) {
    for (const Interval& interval : buffer.intervals) {
      begins[index_of(steps, interval.begin)] = 1;
      ends[index_of(steps, interval.end)] = 1;
    }
  }
  std::vector<int32_t> sections_before(steps.size(), 0);
  int32_t sections = 0;
  bool something_began = false;
  for (size_t i = 0; i < steps.size(); ++i) {
    sections_before[i] = sections;
    something_began |= begins[i] != 0;
    if (something_began && i + 1 < steps.size() && ends[i + 1] != 0) {
      ++sections;
      something_began = false;
    }
  }
  return sections_before;
}

void append_spans(const Buffer& buffer, const std::vector<int64_t>& steps, const std::vector<int32_t>& sections_before,
                  SectionedTrace& result) {
  SectionedBuffer& sectioned = result.buffers.back();
  sectioned.first_span = static_cast<int32_t>(result.spans.size());
  for (const Interval& interval : buffer.intervals) {
    const SectionSpan span{sections_before[index_of(steps, interval.begin)],
                           sections_before[index_of(steps, interval.end)]};
    const bool touches =
        static_cast<int32_t>(result.spans.size()) > sectioned.first_span && result.spans.back().end == span.begin;
    if (touches) {
      result.spans.back().end = span.end;
    } else {
      result.spans.push_back(span);
    }
  }
  sectioned.span_count = static_cast<int32_t>(result.spans.size()) - sectioned.first_span;
}

// What is live in the section at hand: padded bytes, of a group those of its largest member, and how much the topmost
// buffer may save. A smaller member is topmost only where it lies beside the largest one, which costs more than it
// saves.
class LiveSet {
 public:
  void begin(const SectionedBuffer& buffer) {
    if (!buffer.alias_group) return count(size_of(buffer));
    std::multiset<Size>& members = groups_[*buffer.alias_group];
    if (!members.empty()) discount(*members.rbegin());
    members.insert(size_of(buffer));
    count(*members.rbegin());
  }

  void end(const SectionedBuffer& buffer) {
    if (!buffer.alias_group) return discount(size_of(buffer));
    std::multiset<Size>& members = groups_[*buffer.alias_group];
    discount(*members.rbegin());
    members.erase(members.find(size_of(buffer)));
    if (!members.empty()) count(*members.rbegin());
  }

  int64_t bytes() const { return bytes_; }
  int64_t least_peak() const { return savings_.empty() ? 0 : bytes_ - *savings_.rbegin(); }

 private:
  struct Size {
    int64_t padded_bytes = 0;
    int64_t bytes = 0;
    auto operator<=>(const Size&) const = default;
  };

  static Size size_of(const SectionedBuffer& buffer) { return {buffer.padded_bytes, buffer.bytes}; }

  void count(Size size) {
    bytes_ += size.padded_bytes;
    savings_.insert(size.padded_bytes - size.bytes);
  }

  void discount(Size size) {
    bytes_ -= size.padded_bytes;
    savings_.erase(savings_.find(size.padded_bytes - size.bytes));
  }

  int64_t bytes_ = 0;
  std::multiset<int64_t> savings_;  // of what is counted
  std::unordered_map<int64_t, std::multiset<Size>> groups_;
};

void fill_loads(SectionedTrace& trace) {
  std::vector<std::vector<int32_t>> begins(trace.section_count + 1), ends(trace.section_count + 1);
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    for (const SectionSpan& span : trace.spans_of(trace.buffers[i])) {
      begins[span.begin].push_back(static_cast<int32_t>(i));
      ends[span.end].push_back(static_cast<int32_t>(i));
    }
  }
  LiveSet live;
  for (int32_t section = 0; section < trace.section_count; ++section) {
    for (int32_t i : ends[section]) live.end(trace.buffers[i]);
    for (int32_t i : begins[section]) live.begin(trace.buffers[i]);
    trace.load_bytes[section] = live.bytes();
    trace.least_peak_bytes[section] = live.least_peak();
    trace.lower_bound_bytes = std::max(trace.lower_bound_bytes, live.least_peak());
  }
}

}  // namespace

SectionedTrace make_sections(const Trace& trace) {
  SectionedTrace result;
  if (trace.buffers.empty()) return result;
  result.common_alignment_bytes = std::numeric_limits<int64_t>::max();
  for (const Buffer& buffer : trace.buffers) {
    result.common_alignment_bytes = std::min(result.common_alignment_bytes, buffer.alignment);
  }
  const std::vector<int64_t> steps = distinct_steps(trace);
  const std::vector<int32_t> sections_before = count_sections(trace, steps);
  result.section_count = sections_before.back();
  result.load_bytes.assign(result.section_count, 0);
  result.least_peak_bytes.assign(result.section_count, 0);
  for (const Buffer& buffer : trace.buffers) {
    SectionedBuffer& sectioned = result.buffers.emplace_back();
    sectioned.bytes = buffer.bytes;
    sectioned.padded_bytes = (buffer.bytes + result.common_alignment_bytes - 1) & -result.common_alignment_bytes;
    sectioned.alignment = buffer.alignment;
    sectioned.fixed_offset = buffer.fixed_offset;
    sectioned.alias_group = buffer.alias_group;
    append_spans(buffer, steps, sections_before, result);
    if (buffer.fixed_offset) {
      result.lower_bound_bytes = std::max(result.lower_bound_bytes, *buffer.fixed_offset + buffer.bytes);
    }
  }
  fill_loads(result);
  return result;
}

}  // namespace tidemark::memory
