#include "memory/arena/exact_packer.h"

#include <algorithm>
#include <numeric>

#include "memory/arena/search/overlap_search.h"

namespace tidemark::memory {
namespace {

// Leaves room for sums of two offsets in the search's 32-bit arithmetic.
constexpr int64_t kLargestUnits = int64_t{1} << 30;

// Of the trace's sections keeps those in which this part of the buffers has a maximal live set; returns their number.
int32_t compress_sections(Packing& packing, int32_t section_count) {
  std::vector<char> begins(section_count + 1, 0), ends(section_count + 1, 0);
  for (const PackingItem& item : packing.items) {
    for (const SectionSpan& span : item.spans) begins[span.begin] = ends[span.end] = 1;
  }
  std::vector<int32_t> kept_before(section_count + 1, 0);
  int32_t kept = 0;
  bool something_began = false;
  for (int32_t section = 0; section < section_count; ++section) {
    kept_before[section] = kept;
    something_began |= begins[section] != 0;
    if (something_began && ends[section + 1] != 0) {
      ++kept;
      something_began = false;
    }
  }
  kept_before[section_count] = kept;
  for (PackingItem& item : packing.items) {
    for (SectionSpan& span : item.spans) span = {kept_before[span.begin], kept_before[span.end]};
  }
  return kept;
}

}  // namespace

ExactPacker::ExactPacker(const SectionedTrace& trace, std::vector<int32_t> buffers, int64_t largest_capacity_bytes)
    : trace_(trace), buffers_(std::move(buffers)) {
  // An order that does not hang on ids or on the place in the file.
  std::sort(buffers_.begin(), buffers_.end(), [&](int32_t a, int32_t b) {
    const SectionedBuffer &x = trace.buffers[a], &y = trace.buffers[b];
    const SectionSpan p = trace.hull_of(x), q = trace.hull_of(y);
    if (p.begin != q.begin) return p.begin < q.begin;
    if (p.end != q.end) return p.end < q.end;
    if (x.padded_bytes != y.padded_bytes) return x.padded_bytes > y.padded_bytes;
    return a < b;
  });
  choose_unit(largest_capacity_bytes);
  fill_packing();
  search_ = make_valley_search(packing_, static_cast<int32_t>(largest_capacity_bytes / unit_bytes_ + 1));
}

void ExactPacker::choose_unit(int64_t largest_capacity_bytes) {
  unit_bytes_ = 0;
  for (int32_t index : buffers_) {
    const SectionedBuffer& buffer = trace_.buffers[index];
    unit_bytes_ = std::gcd(unit_bytes_, buffer.padded_bytes);
    if (buffer.alignment > 1) unit_bytes_ = std::gcd(unit_bytes_, buffer.alignment);
    if (buffer.fixed_offset) unit_bytes_ = std::gcd(unit_bytes_, *buffer.fixed_offset);
    proofs_hold_ &= !buffer.alias_group;
  }
  unit_bytes_ = std::max<int64_t>(unit_bytes_, 1);
  while (largest_capacity_bytes / unit_bytes_ >= kLargestUnits) {
    unit_bytes_ *= 2;
    rounded_ = true;
  }
}

void ExactPacker::fill_packing() {
  const auto up = [&](int64_t bytes) { return static_cast<int32_t>((bytes + unit_bytes_ - 1) / unit_bytes_); };
  for (int32_t index : buffers_) {
    const SectionedBuffer& buffer = trace_.buffers[index];
    PackingItem& item = packing_.items.emplace_back();
    item.size = up(buffer.padded_bytes);
    item.alignment = std::max(1, up(buffer.alignment));
    if (buffer.fixed_offset) {
      // With a rounded unit a fixed buffer covers every unit that it touches.
      item.fixed_offset = static_cast<int32_t>(*buffer.fixed_offset / unit_bytes_);
      item.size = up(*buffer.fixed_offset + buffer.padded_bytes) - item.fixed_offset;
    }
    for (const SectionSpan& span : trace_.spans_of(buffer)) item.spans.push_back(span);
  }
  packing_.section_count = compress_sections(packing_, trace_.section_count);
  std::vector<int64_t> load(packing_.section_count, 0);
  for (const PackingItem& item : packing_.items) {
    for (const SectionSpan& span : item.spans) {
      for (int32_t s = span.begin; s < span.end; ++s) load[s] += item.size;
    }
  }
  for (int64_t units : load) least_capacity_bytes_ = std::max(least_capacity_bytes_, units * unit_bytes_);
}

int64_t ExactPacker::next_capacity(int64_t capacity_bytes) const {
  int64_t step = unit_bytes_;
  for (int32_t index : buffers_) {
    const int64_t room = capacity_bytes - trace_.buffers[index].bytes;
    if (room >= 0) step = std::min(step, unit_bytes_ - room % unit_bytes_);
  }
  return capacity_bytes + step;
}

std::vector<int32_t> ExactPacker::largest_offsets(int64_t capacity_bytes) const {
  std::vector<int32_t> result;
  for (size_t i = 0; i < buffers_.size(); ++i) {
    const SectionedBuffer& buffer = trace_.buffers[buffers_[i]];
    // The padding of the topmost buffer may stick out of the capacity, its bytes may not.
    int64_t largest = capacity_bytes - buffer.bytes;
    if (rounded_)
      largest = std::min(largest, capacity_bytes / unit_bytes_ * unit_bytes_ - packing_.items[i].size * unit_bytes_);
    if (buffer.fixed_offset && *buffer.fixed_offset <= capacity_bytes - buffer.bytes) largest = *buffer.fixed_offset;
    result.push_back(largest < 0 ? -1 : static_cast<int32_t>(largest / unit_bytes_));
  }
  return result;
}

std::vector<int64_t> ExactPacker::to_bytes(const std::vector<int32_t>& offsets) const {
  std::vector<int64_t> result;
  for (size_t i = 0; i < offsets.size(); ++i) {
    const std::optional<int64_t>& fixed = trace_.buffers[buffers_[i]].fixed_offset;
    result.push_back(fixed ? *fixed : offsets[i] * unit_bytes_);
  }
  return result;
}

ExactPacker::Result ExactPacker::pack(int64_t capacity_bytes, const std::vector<int64_t>& guide_offsets, uint64_t seed,
                                      int64_t work_limit) {
  std::vector<int32_t> guide;
  if (!guide_offsets.empty()) {
    for (int32_t index : buffers_) guide.push_back(static_cast<int32_t>(guide_offsets[index] / unit_bytes_));
  }
  const SearchResult found = search_->run(largest_offsets(capacity_bytes), guide, seed, work_limit);
  Result result;
  result.verdict = found.verdict;
  result.exhausted = found.verdict == SearchVerdict::impossible;
  result.work = found.work;
  if (found.verdict == SearchVerdict::impossible && (rounded_ || !proofs_hold_))
    result.verdict = SearchVerdict::stopped;
  result.offsets = to_bytes(found.offsets);
  return result;
}

ExactPacker::Result ExactPacker::pack_by_overlaps(int64_t capacity_bytes, uint64_t seed, int64_t work_limit) const {
  Result result;
  if (buffers_.size() > kLargestOverlapItems || capacity_bytes / unit_bytes_ >= kLargestOverlapCapacity) return result;
  const std::vector<int32_t> largest = largest_offsets(capacity_bytes);
  for (size_t i = 0; i < largest.size(); ++i) {
    if (largest[i] < 0 || packing_.items[i].fixed_offset > largest[i]) return result;
  }
  const OverlapResult found = search_overlaps(packing_, largest, seed, work_limit);
  result.work = found.work;
  result.offsets = to_bytes(found.offsets);
  int64_t peak = 0;
  for (size_t i = 0; i < result.offsets.size(); ++i) {
    peak = std::max(peak, result.offsets[i] + trace_.buffers[buffers_[i]].bytes);
  }
  if (!result.offsets.empty() && peak <= capacity_bytes) result.verdict = SearchVerdict::found;
  return result;
}

}  // namespace tidemark::memory
