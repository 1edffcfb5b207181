#include "memory/arena/greedy_planner.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace tidemark::memory {
namespace {

int64_t section_length(const SectionedTrace& trace, const SectionedBuffer& buffer) {
  int64_t length = 0;
  for (const SectionSpan& span : trace.spans_of(buffer)) length += span.end - span.begin;
  return length;
}

int64_t fullest_load(const SectionedTrace& trace, const SectionedBuffer& buffer) {
  int64_t load = 0;
  for (const SectionSpan& span : trace.spans_of(buffer)) {
    load =
        std::max(load, *std::max_element(trace.load_bytes.begin() + span.begin, trace.load_bytes.begin() + span.end));
  }
  return load;
}

// Ascending keys; what must come first is the smallest. Area is a double: bytes x sections may pass 2^63.
double first_key(const SectionedTrace& trace, const SectionedBuffer& buffer, GreedyOrder order) {
  switch (order) {
    case GreedyOrder::size:
      return -static_cast<double>(buffer.padded_bytes);
    case GreedyOrder::area:
      return -static_cast<double>(buffer.padded_bytes) * static_cast<double>(section_length(trace, buffer));
    case GreedyOrder::lifetime:
      return -static_cast<double>(section_length(trace, buffer));
    case GreedyOrder::begin:
      return trace.hull_of(buffer).begin;
    case GreedyOrder::contention:
      return -static_cast<double>(fullest_load(trace, buffer));
  }
  return 0;
}

}  // namespace

std::vector<int32_t> greedy_order(const SectionedTrace& trace, GreedyOrder order) {
  std::vector<double> keys;
  for (const SectionedBuffer& buffer : trace.buffers) keys.push_back(first_key(trace, buffer, order));
  std::vector<int32_t> result(trace.buffers.size());
  std::iota(result.begin(), result.end(), 0);
  std::sort(result.begin(), result.end(), [&](int32_t a, int32_t b) {
    if (keys[a] != keys[b]) return keys[a] < keys[b];
    const SectionedBuffer &x = trace.buffers[a], &y = trace.buffers[b];
    if (x.padded_bytes != y.padded_bytes) return x.padded_bytes > y.padded_bytes;
    const SectionSpan p = trace.hull_of(x), q = trace.hull_of(y);
    if (p.begin != q.begin) return p.begin < q.begin;
    if (p.end != q.end) return p.end < q.end;
    return a < b;
  });
  return result;
}

OffsetPlan GreedyPlanner::minimize(const Trace& trace, const OffsetPlannerOptions&) const {
  validate(trace);
  const SectionedTrace sections = make_sections(trace);
  GreedyPlacement placement(sections);
  placement.place_all(greedy_order(sections, order_), rule_);
  OffsetPlan plan;
  plan.offsets = placement.offsets();
  plan.peak_bytes = placement.peak_bytes();
  plan.lower_bound_bytes = sections.lower_bound_bytes;
  plan.proven_optimal = plan.peak_bytes == plan.lower_bound_bytes;
  plan.work = static_cast<int64_t>(trace.buffers.size());
  plan.planner = name_;
  return plan;
}

}  // namespace tidemark::memory
