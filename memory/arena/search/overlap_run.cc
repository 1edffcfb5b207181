#include "memory/arena/search/overlap_run.h"

#include <algorithm>
#include <numeric>

namespace tidemark::memory {
namespace {

constexpr int32_t kFirstWeight = 1;
// Of the pair with the largest overlap at a local minimum; the others in proportion.
constexpr int32_t kWeightStep = 300;
constexpr int64_t kLargestWeightSum = int64_t{1} << 29;
// What a neighbour, and an offset, cost in parts of one look of the exact search at one section.
constexpr int64_t kNeighboursPerUnit = 32;
constexpr int64_t kOffsetsPerUnit = 128;

bool meet(const PackingItem& a, const PackingItem& b) {
  for (const SectionSpan& x : a.spans) {
    for (const SectionSpan& y : b.spans) {
      if (x.begin < y.end && y.begin < x.end) return true;
    }
  }
  return false;
}

}  // namespace

OverlapGraph::OverlapGraph(const Packing& packing_in, const std::vector<int32_t>& largest)
    : packing(packing_in), largest_offsets(largest), links(packing_in.items.size()) {
  const auto& items = packing.items;
  size_t most_links = 1;
  for (size_t i = 0; i < items.size(); ++i) {
    capacity = std::max(capacity, largest_offsets[i] + items[i].size);
    for (size_t k = 0; k < i; ++k) {
      if (!meet(items[i], items[k])) continue;
      const auto a = static_cast<int32_t>(k), b = static_cast<int32_t>(i);
      const auto pair = static_cast<int32_t>(pairs.size());
      links[a].push_back({b, pair});
      links[b].push_back({a, pair});
      pairs.push_back({a, b});
    }
  }
  for (const auto& of_item : links) most_links = std::max(most_links, of_item.size());
  largest_weight = static_cast<int32_t>(kLargestWeightSum / static_cast<int64_t>(most_links));
}

OverlapRun::OverlapRun(const OverlapGraph& graph, uint64_t seed)
    : graph_(graph),
      item_count_(static_cast<int32_t>(graph.packing.items.size())),
      random_(seed * 0x9E3779B97F4A7C15ull + 77),
      weight_(graph.pairs.size(), kFirstWeight),
      active_at_(graph.pairs.size(), -1),
      slope_change_(3 * graph.capacity + 2),
      queue_(item_count_ + 1),
      is_queued_(item_count_, 0),
      order_(item_count_),
      tops_(graph.packing.section_count),
      compacted_(item_count_) {
  for (int i = 0; i < 8; ++i) below(2);
  for (int32_t i = 0; i < item_count_; ++i) {
    const PackingItem& item = graph.packing.items[i];
    size_.push_back(item.size);
    const int32_t places = graph.largest_offsets[i] / item.alignment + 1;
    const int32_t place = static_cast<int32_t>(below(static_cast<uint32_t>(places))) * item.alignment;
    offset_.push_back(item.fixed_offset >= 0 ? item.fixed_offset : place);
  }
  for (size_t p = 0; p < graph.pairs.size(); ++p) {
    note_overlap(static_cast<int32_t>(p), overlap(graph.pairs[p].first, graph.pairs[p].second));
  }
  std::iota(order_.begin(), order_.end(), 0);
  for (size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[below(static_cast<uint32_t>(i))]);
  for (int32_t item : order_) push(item);
  work_ += static_cast<int64_t>(graph.pairs.size()) / kNeighboursPerUnit + item_count_;
}

// xorshift64*
uint32_t OverlapRun::below(uint32_t n) {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return static_cast<uint32_t>((((random_ * 0x2545F4914F6CDD1Dull) >> 32) * n) >> 32);
}

void OverlapRun::push(int32_t item) {
  if (is_queued_[item] || graph_.packing.items[item].fixed_offset >= 0) return;
  is_queued_[item] = 1;
  queue_[queue_end_] = item;
  queue_end_ = queue_end_ + 1 == queue_.size() ? 0 : queue_end_ + 1;
}

int32_t OverlapRun::pop() {
  const int32_t item = queue_[queue_begin_];
  queue_begin_ = queue_begin_ + 1 == queue_.size() ? 0 : queue_begin_ + 1;
  is_queued_[item] = 0;
  return item;
}

int32_t OverlapRun::overlap(int32_t a, int32_t b) const {
  const int32_t shared = std::min(offset_[a] + size_[a] - offset_[b], offset_[b] + size_[b] - offset_[a]);
  return std::min(shared, std::min(size_[a], size_[b]));
}

void OverlapRun::note_overlap(int32_t pair, int32_t units) {
  int32_t& at = active_at_[pair];
  if (units > 0 && at < 0) {
    at = static_cast<int32_t>(active_.size());
    active_.push_back(pair);
  } else if (units <= 0 && at >= 0) {
    active_[at] = active_.back();
    active_at_[active_[at]] = at;
    active_.pop_back();
    at = -1;
  }
}

int64_t OverlapRun::cost_here(int32_t item) const {
  int64_t cost = 0;
  for (const OverlapGraph::Link& link : graph_.links[item]) {
    const int32_t units = overlap(item, link.item);
    if (units > 0) cost += static_cast<int64_t>(weight_[link.pair]) * units;
  }
  return cost;
}

// The overlap with one neighbour, over the offset: up, level, down.
void OverlapRun::add_slopes(int32_t item) {
  int32_t* change = slope_change_.data() + graph_.capacity;
  const int32_t size = size_[item];
  std::fill(change - size, change + graph_.capacity + 1, 0);
  for (const OverlapGraph::Link& link : graph_.links[item]) {
    const int32_t least = std::min(size, size_[link.item]), weight = weight_[link.pair];
    int32_t* rise = change + (offset_[link.item] - size);
    int32_t* fall = change + (offset_[link.item] + size_[link.item]);
    rise[0] += weight;
    rise[least] -= weight;
    fall[-least] -= weight;
    fall[0] += weight;
  }
}

// Of equally good offsets a random one.
int64_t OverlapRun::find_best_offset(int32_t item, int32_t& offset) {
  add_slopes(item);
  const int32_t* change = slope_change_.data() + graph_.capacity;
  const int32_t alignment = graph_.packing.items[item].alignment, largest = graph_.largest_offsets[item];
  int64_t cost = 0, least = std::numeric_limits<int64_t>::max();
  int32_t slope = 0;
  uint32_t ties = 0;
  for (int32_t x = -size_[item]; x < 0; ++x) cost += slope += change[x];
  for (int32_t x = 0; x <= largest; ++x) {
    if (cost <= least && (alignment == 1 || x % alignment == 0)) {
      ties = cost < least ? 1 : ties + 1;
      if (ties == 1 || below(ties) == 0) offset = x;
      least = cost;
    }
    cost += slope += change[x];
  }
  return least;
}

void OverlapRun::improve(int32_t item) {
  const auto& links = graph_.links[item];
  const int64_t cost = cost_here(item);
  work_ += 1 + static_cast<int64_t>(links.size()) / kNeighboursPerUnit;
  if (cost == 0) return;
  int32_t best = offset_[item];
  work_ += static_cast<int64_t>(links.size()) / kNeighboursPerUnit + graph_.capacity / kOffsetsPerUnit;
  const int64_t least = find_best_offset(item, best);
  if (least >= cost) return;
  offset_[item] = best;
  for (const OverlapGraph::Link& link : links) {
    const int32_t units = overlap(item, link.item);
    note_overlap(link.pair, units);
    if (units > 0) push(link.item);
  }
  if (least > 0) push(item);
}

// Until no single item can do better. False if the work ended first.
bool OverlapRun::settle(int64_t end) {
  while (queue_begin_ != queue_end_) {
    if (work_ >= end) return false;
    improve(pop());
  }
  return true;
}

// Makes the local minimum dearer than its surroundings. Returns the overlap.
int64_t OverlapRun::raise_weights() {
  int64_t sum = 0;
  int32_t most = 1, heaviest = 0;
  for (int32_t p : active_) {
    const int32_t units = overlap(graph_.pairs[p].first, graph_.pairs[p].second);
    sum += units;
    most = std::max(most, units);
  }
  for (int32_t p : active_) {
    const auto [a, b] = graph_.pairs[p];
    weight_[p] += static_cast<int32_t>((static_cast<int64_t>(kWeightStep) * overlap(a, b) + most - 1) / most);
    heaviest = std::max(heaviest, weight_[p]);
    push(a);
    push(b);
  }
  if (heaviest >= graph_.largest_weight - kWeightStep) {
    for (int32_t& weight : weight_) weight = (weight + 1) / 2;
  }
  work_ += 1 + static_cast<int64_t>(active_.size()) / kNeighboursPerUnit;
  return sum;
}

// In the order of their offsets the items go as low as they can above what came before: a packing, mostly a little
// higher than the capacity.
void OverlapRun::compact() {
  const auto& items = graph_.packing.items;
  const auto middle = [&](int32_t i) { return 2 * offset_[i] + size_[i]; };
  std::sort(order_.begin(), order_.end(),
            [&](int32_t a, int32_t b) { return middle(a) != middle(b) ? middle(a) < middle(b) : a < b; });
  std::fill(tops_.begin(), tops_.end(), 0);
  int32_t highest = 0;
  for (int32_t i : order_) {
    int32_t offset = 0;
    for (const SectionSpan& span : items[i].spans) {
      for (int32_t s = span.begin; s < span.end; ++s) offset = std::max(offset, tops_[s]);
    }
    offset = (offset + items[i].alignment - 1) / items[i].alignment * items[i].alignment;
    if (items[i].fixed_offset >= 0) {
      if (offset > items[i].fixed_offset) return;
      offset = items[i].fixed_offset;
    }
    compacted_[i] = offset;
    for (const SectionSpan& span : items[i].spans) {
      std::fill(tops_.begin() + span.begin, tops_.begin() + span.end, offset + size_[i]);
    }
    highest = std::max(highest, offset + size_[i]);
  }
  work_ += item_count_;
  if (highest >= packed_top_) return;
  packed_top_ = highest;
  packed_ = compacted_;
}

bool OverlapRun::advance(int64_t work_limit) {
  const int64_t end = work_ + work_limit;
  while (settle(end)) {
    if (active_.empty()) {
      packed_ = offset_;
      packed_top_ = 0;
      for (int32_t i = 0; i < item_count_; ++i) packed_top_ = std::max(packed_top_, offset_[i] + size_[i]);
      least_overlap_ = 0;
      return true;
    }
    const int64_t sum = raise_weights();
    // Only near the best: a compaction costs as much as some ten moves.
    if (least_overlap_ == std::numeric_limits<int64_t>::max() || sum <= least_overlap_ + least_overlap_ / 2) compact();
    least_overlap_ = std::min(least_overlap_, sum);
  }
  return false;
}

}  // namespace tidemark::memory
