// A trace in the planners' terms: steps compressed to sections, sizes to what alignment makes of them.
//
// A section stands for a maximal set of buffers that are live together; a step whose live buffers are a subset of a
// neighbour's is dropped. Two buffers meet in time exactly if they share a section.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/trace/trace.h"

namespace tidemark::memory {

// Half-open range of sections.
struct SectionSpan {
  int32_t begin = 0;
  int32_t end = 0;
  bool operator==(const SectionSpan&) const = default;
};

// Every offset is a multiple of common_alignment_bytes (the least alignment of any buffer), so a buffer takes
// `padded_bytes` from whatever lies above it; only at the very top its true `bytes` count.
struct SectionedBuffer {
  int64_t bytes = 0;
  int64_t padded_bytes = 0;
  int64_t alignment = 1;
  std::optional<int64_t> fixed_offset;
  std::optional<int64_t> alias_group;
  int32_t first_span = 0;  // its spans lie at [first_span, first_span + span_count) of SectionedTrace::spans
  int32_t span_count = 0;
};

struct SectionedTrace {
  int32_t section_count = 0;
  int64_t common_alignment_bytes = 1;
  std::vector<SectionedBuffer> buffers;  // in the order of the trace
  std::vector<SectionSpan> spans;        // of one buffer: sorted, disjoint, not touching
  // Padded live bytes of each section, the largest member of an alias group only.
  std::vector<int64_t> load_bytes;
  // The same with the topmost buffer unpadded at best: what each section alone needs.
  std::vector<int64_t> least_peak_bytes;
  // No plan has a lower peak: the largest of least_peak_bytes, or the top of a fixed buffer.
  int64_t lower_bound_bytes = 0;

  std::span<const SectionSpan> spans_of(const SectionedBuffer& buffer) const {
    return {spans.data() + buffer.first_span, static_cast<size_t>(buffer.span_count)};
  }
  SectionSpan hull_of(const SectionedBuffer& buffer) const {
    return {spans[buffer.first_span].begin, spans[buffer.first_span + buffer.span_count - 1].end};
  }
};

// O(n log n). The trace must be valid.
SectionedTrace make_sections(const Trace& trace);

}  // namespace tidemark::memory
