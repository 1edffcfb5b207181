#include "memory/arena/occupancy_tree.h"

#include <algorithm>
#include <limits>

namespace tidemark::memory {
namespace {

constexpr int64_t kNoEnd = std::numeric_limits<int64_t>::max();

int64_t align_up(int64_t offset, int64_t alignment) { return (offset + alignment - 1) & -alignment; }

void insert(std::vector<ByteRange>& ranges, ByteRange added) {
  const auto first = std::lower_bound(ranges.begin(), ranges.end(), added.begin,
                                      [](const ByteRange& range, int64_t begin) { return range.end < begin; });
  auto last = first;
  while (last != ranges.end() && last->begin <= added.end) {
    added.begin = std::min(added.begin, last->begin);
    added.end = std::max(added.end, last->end);
    ++last;
  }
  if (first == last) {
    ranges.insert(first, added);
    return;
  }
  *first = added;
  ranges.erase(first + 1, last);
}

}  // namespace

OccupancyTree::OccupancyTree(int32_t section_count) {
  while (leaf_count_ < section_count) leaf_count_ *= 2;
  nodes_.resize(size_t{2} * leaf_count_);
}

void OccupancyTree::occupy(SectionSpan sections, ByteRange bytes) {
  int32_t left = sections.begin + leaf_count_, right = sections.end + leaf_count_;
  const int32_t first_leaf = left, last_leaf = right - 1;
  const auto cover = [&](int32_t node) {
    insert(nodes_[node].whole, bytes);
    insert(nodes_[node].some, bytes);
  };
  for (; left < right; left /= 2, right /= 2) {
    if (left & 1) cover(left++);
    if (right & 1) cover(--right);
  }
  // The ancestors of the covering nodes are those of the two outermost leaves that the sections do not cover.
  int32_t size = 1;
  for (int32_t a = first_leaf, b = last_leaf; a >= 1; a /= 2, b /= 2, size *= 2) {
    const auto covered = [&](int32_t node) {
      const int32_t begin = node * size - leaf_count_;
      return begin >= sections.begin && begin + size <= sections.end;
    };
    if (!covered(a)) insert(nodes_[a].some, bytes);
    if (b != a && !covered(b)) insert(nodes_[b].some, bytes);
  }
}

void OccupancyTree::add_cursors(SectionSpan sections, std::vector<Cursor>& cursors) const {
  const auto add = [&](const Ranges& ranges) {
    if (!ranges.empty()) cursors.push_back({ranges.data(), ranges.data() + ranges.size()});
  };
  int32_t left = sections.begin + leaf_count_, right = sections.end + leaf_count_;
  const int32_t first_leaf = left, last_leaf = right - 1;
  for (; left < right; left /= 2, right /= 2) {
    if (left & 1) add(nodes_[left++].some);
    if (right & 1) add(nodes_[--right].some);
  }
  int32_t size = 2;
  for (int32_t a = first_leaf / 2, b = last_leaf / 2; a >= 1; a /= 2, b /= 2, size *= 2) {
    add(nodes_[a].whole);
    if (b != a) add(nodes_[b].whole);
  }
}

std::vector<OccupancyTree::Cursor>& OccupancyTree::cursors_for(std::span<const SectionSpan> spans) const {
  cursors_.clear();
  for (const SectionSpan& span : spans) add_cursors(span, cursors_);
  return cursors_;
}

bool OccupancyTree::is_free(SectionSpan sections, ByteRange bytes) const {
  for (const Cursor& cursor : cursors_for({&sections, 1})) {
    const auto* next = std::lower_bound(cursor.at, cursor.end, bytes.begin,
                                        [](const ByteRange& range, int64_t begin) { return range.end <= begin; });
    if (next != cursor.end && next->begin < bytes.end) return false;
  }
  return true;
}

int64_t OccupancyTree::first_fit(std::span<const SectionSpan> spans, int64_t bytes, int64_t alignment) const {
  std::vector<Cursor>& cursors = cursors_for(spans);
  int64_t offset = 0;
  for (bool moved = true; moved;) {
    moved = false;
    for (Cursor& cursor : cursors) {
      while (cursor.at != cursor.end && cursor.at->begin < offset + bytes) {
        if (cursor.at->end > offset) {
          offset = align_up(cursor.at->end, alignment);
          moved = true;
        }
        ++cursor.at;
      }
    }
  }
  return offset;
}

int64_t OccupancyTree::best_fit(std::span<const SectionSpan> spans, int64_t bytes, int64_t alignment) const {
  std::vector<Cursor>& cursors = cursors_for(spans);
  int64_t best_offset = -1, best_bytes = kNoEnd, floor = 0;
  while (true) {
    int64_t ceiling = kNoEnd;
    for (bool moved = true; moved;) {
      moved = false;
      ceiling = kNoEnd;
      for (Cursor& cursor : cursors) {
        while (cursor.at != cursor.end && cursor.at->begin <= floor) {
          if (cursor.at->end > floor) {
            floor = cursor.at->end;
            moved = true;
          }
          ++cursor.at;
        }
        if (cursor.at != cursor.end) ceiling = std::min(ceiling, cursor.at->begin);
      }
    }
    const int64_t offset = align_up(floor, alignment);
    if (ceiling == kNoEnd) return best_offset >= 0 ? best_offset : offset;
    if (offset + bytes <= ceiling && ceiling - floor < best_bytes) {
      best_bytes = ceiling - floor;
      best_offset = offset;
    }
    floor = ceiling;
  }
}

}  // namespace tidemark::memory
