#include "memory/arena/greedy_placement.h"

#include <algorithm>

namespace tidemark::memory {

GreedyPlacement::GreedyPlacement(const SectionedTrace& trace)
    : trace_(trace), taken_(trace.section_count), offsets_(trace.buffers.size(), -1) {
  for (size_t i = 0; i < trace.buffers.size(); ++i) {
    if (trace.buffers[i].fixed_offset) place_at(static_cast<int32_t>(i), *trace.buffers[i].fixed_offset);
  }
}

void GreedyPlacement::place_at(int32_t index, int64_t offset) {
  const SectionedBuffer& buffer = trace_.buffers[index];
  for (const SectionSpan& span : trace_.spans_of(buffer)) taken_.occupy(span, {offset, offset + buffer.padded_bytes});
  if (buffer.alias_group) placed_of_group_[*buffer.alias_group].push_back(index);
  offsets_[index] = offset;
  peak_bytes_ = std::max(peak_bytes_, offset + buffer.bytes);
}

void GreedyPlacement::place(int32_t index, FitRule rule) {
  const SectionedBuffer& buffer = trace_.buffers[index];
  const auto spans = trace_.spans_of(buffer);
  int64_t offset = rule == FitRule::first ? taken_.first_fit(spans, buffer.padded_bytes, buffer.alignment)
                                          : taken_.best_fit(spans, buffer.padded_bytes, buffer.alignment);
  if (buffer.alias_group) {
    const std::optional<int64_t> shared = lowest_shared_offset(index);
    if (shared && (rule == FitRule::best || *shared < offset)) offset = *shared;
  }
  place_at(index, offset);
}

void GreedyPlacement::place_all(std::span<const int32_t> order, FitRule rule) {
  for (int32_t index : order) {
    if (offsets_[index] < 0) place(index, rule);
  }
}

std::optional<int64_t> GreedyPlacement::lowest_shared_offset(int32_t index) const {
  const auto found = placed_of_group_.find(*trace_.buffers[index].alias_group);
  if (found == placed_of_group_.end()) return std::nullopt;
  std::optional<int64_t> lowest;
  for (int32_t mate : found->second) {
    const int64_t offset = offsets_[mate];
    if (lowest && offset >= *lowest) continue;
    if (fits_among_mates(index, offset, found->second)) lowest = offset;
  }
  return lowest;
}

// Where a mate at `offset` is live its bytes are its own, so only what reaches beyond the largest such mate must be
// free.
bool GreedyPlacement::fits_among_mates(int32_t index, int64_t offset, const std::vector<int32_t>& mates) const {
  const SectionedBuffer& buffer = trace_.buffers[index];
  if (offset % buffer.alignment != 0) return false;
  for (const SectionSpan& span : trace_.spans_of(buffer)) {
    // The span cut at every begin and end of a mate: in each piece the same mates are live.
    std::vector<int32_t> cuts = {span.begin, span.end};
    for (int32_t mate : mates) {
      for (const SectionSpan& other : trace_.spans_of(trace_.buffers[mate])) {
        if (other.begin > span.begin && other.begin < span.end) cuts.push_back(other.begin);
        if (other.end > span.begin && other.end < span.end) cuts.push_back(other.end);
      }
    }
    std::sort(cuts.begin(), cuts.end());
    for (size_t i = 0; i + 1 < cuts.size(); ++i) {
      const SectionSpan piece{cuts[i], cuts[i + 1]};
      if (piece.begin == piece.end) continue;
      int64_t shared_bytes = 0;
      for (int32_t mate : mates) {
        if (offsets_[mate] != offset) continue;
        for (const SectionSpan& other : trace_.spans_of(trace_.buffers[mate])) {
          const bool live = other.begin <= piece.begin && piece.end <= other.end;
          if (live) shared_bytes = std::max(shared_bytes, trace_.buffers[mate].padded_bytes);
        }
      }
      const ByteRange beyond{offset + shared_bytes, offset + buffer.padded_bytes};
      if (beyond.begin < beyond.end && !taken_.is_free(piece, beyond)) return false;
    }
  }
  return true;
}

}  // namespace tidemark::memory
