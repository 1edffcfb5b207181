#include "memory/arena/alias_merge.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace tidemark::memory {
namespace {

bool meet(const SectionedTrace& trace, const SectionedBuffer& a, const SectionedBuffer& b) {
  for (const SectionSpan& x : trace.spans_of(a)) {
    for (const SectionSpan& y : trace.spans_of(b)) {
      if (x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

bool may_merge(const SectionedTrace& trace, const SectionedBuffer& a, const SectionedBuffer& b) {
  return a.bytes == b.bytes && a.alignment == b.alignment && a.fixed_offset == b.fixed_offset && meet(trace, a, b);
}

class Sets {
 public:
  explicit Sets(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
  int32_t find(int32_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(int32_t a, int32_t b) { parent_[find(b)] = find(a); }

 private:
  std::vector<int32_t> parent_;
};

// The union of the spans, touching ones joined.
std::vector<SectionSpan> joined(std::vector<SectionSpan> spans) {
  std::sort(spans.begin(), spans.end(), [](const SectionSpan& a, const SectionSpan& b) { return a.begin < b.begin; });
  std::vector<SectionSpan> result;
  for (const SectionSpan& span : spans) {
    if (!result.empty() && span.begin <= result.back().end) {
      result.back().end = std::max(result.back().end, span.end);
    } else {
      result.push_back(span);
    }
  }
  return result;
}

Sets find_merges(const SectionedTrace& trace, MergedTrace& merged) {
  Sets sets(trace.buffers.size());
  std::map<int64_t, std::vector<int32_t>> groups;
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    if (trace.buffers[i].alias_group) groups[*trace.buffers[i].alias_group].push_back(static_cast<int32_t>(i));
  }
  for (const auto& [group, members] : groups) {
    merged.has_alias |= members.size() > 1;
    for (size_t i = 0; i < members.size(); ++i) {
      for (size_t k = 0; k < i; ++k) {
        if (may_merge(trace, trace.buffers[members[k]], trace.buffers[members[i]])) sets.join(members[k], members[i]);
      }
    }
  }
  return sets;
}

}  // namespace

MergedTrace merge_alias_groups(const SectionedTrace& trace) {
  MergedTrace merged;
  merged.sections = trace;
  merged.merged_index.resize(trace.buffers.size());
  std::iota(merged.merged_index.begin(), merged.merged_index.end(), 0);
  Sets sets = find_merges(trace, merged);
  if (!merged.has_alias) return merged;

  std::vector<std::vector<int32_t>> members(trace.buffers.size());
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    members[sets.find(static_cast<int32_t>(i))].push_back(static_cast<int32_t>(i));
  }
  SectionedTrace& result = merged.sections;
  result.buffers.clear();
  result.spans.clear();
  for (const std::vector<int32_t>& set : members) {
    if (set.empty()) continue;
    std::vector<SectionSpan> spans;
    for (int32_t i : set) {
      const auto own = trace.spans_of(trace.buffers[i]);
      spans.insert(spans.end(), own.begin(), own.end());
      merged.merged_index[i] = static_cast<int32_t>(result.buffers.size());
    }
    spans = joined(std::move(spans));
    SectionedBuffer buffer = trace.buffers[set.front()];
    buffer.first_span = static_cast<int32_t>(result.spans.size());
    buffer.span_count = static_cast<int32_t>(spans.size());
    result.spans.insert(result.spans.end(), spans.begin(), spans.end());
    result.buffers.push_back(buffer);
  }
  return merged;
}

}  // namespace tidemark::memory
