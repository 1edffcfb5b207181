#include "memory/arena/search/valley_search.h"

#include <algorithm>
#include <cmath>

#include "memory/arena/search/descent.inc"
#include "memory/arena/search/skyline.inc"

// Note [Valley search]
// The problem: items with fixed lifetimes, each to get an offset, so that items that meet in time do not meet in bytes
// and no top passes the capacity. Exact: finds a packing, or proves that there is none, if the work limit allows.
//
// The idea. Every packing can be pushed down until each item stands at 0 or on another, so items can be placed upwards.
// Kept for each unplaced item is its lowest offset: the highest top of what is placed and meets it. The floor of a
// section is the least of these there. Where the floor is lower than on both sides (a valley), nothing can come below
// its candidates, the items whose lowest offset is that floor. One section of a valley is chosen and split into cases:
// each candidate standing on the floor, and, if the section has bytes to spare, none of them ("waste"): then each rests
// on some unplaced item, which lifts all of them (skyline.h). Sections with one case are taken first, then those with
// the fewest, weighted by how often they failed.
//
// What cuts the tree:
//   - a section fails if the items above some level do not fit between it and the capacity (Skyline::refresh);
//   - time splits where no unplaced item crosses: the parts are searched apart (Descent::solve);
//   - states that failed are remembered by hash: the lowest offsets of the unplaced items say everything;
//   - a failure is traced to the decisions that it needs (conflict.h): an item was lifted by an item placed below it,
//     and because it was already too high to pass under that. A level whose decision is not among them has no other
//     case worth trying: the search jumps over it. Distant parts of the time axis thus do not repeat each other's
//     failures.
//
// Restarts. The order of the cases decides nearly everything, and no rule is right; but many short descents with much
// noise find packings that one long one does not. First a few fixed dives, then random ones, cut off after a number of
// failures that follows the Luby sequence. A packing that is slightly too high guides a part of the descents: its order
// of offsets, with little noise.
//
// Limits. With gaps in lifetimes only the lowest valleys can be split, which makes the search weaker. Two states with
// the same 64-bit hash would be taken for one: a packing that is found is always valid, but a proof has that
// (negligible) doubt. The tables grow with sections x items live at once: a few thousand items at most (hot_core.h has
// the rest). Related work: TelaMalloc (ASPLOS 2023) and MiniMalloc (ASPLOS 2023), which place by section and keep
// inferred bounds; conflict-directed backjumping is Prosser's (1993), failure weights are dom/wdeg's (Boussemart 2004).

namespace tidemark::TM_ISA_NAMESPACE {
namespace {

using memory::SearchResult;
using memory::SearchVerdict;

// What is tried first where several items can stand on a floor.
enum class RankRule { area, lifetime, size, contention, root_area, guide };

struct Dive {
  RankRule rule;
  double flush_bonus;
  bool lowest_valley, use_weights;
  int64_t fail_limit;
  double noise;
  bool late_first = false;
};

constexpr Dive kFirstDives[] = {
    {RankRule::size, 0, false, false, 10, 0},        {RankRule::lifetime, 1, false, false, 10, 0},
    {RankRule::root_area, 0, false, false, 25, 0},   {RankRule::contention, 1, false, false, 60, 0},
    {RankRule::lifetime, 0, false, false, 220, 0},   {RankRule::lifetime, 0, false, true, 200, 0.5},
    {RankRule::lifetime, 1, true, false, 260, 0},    {RankRule::lifetime, 0, false, true, 200, 0.5},
    {RankRule::contention, 0, false, false, 700, 0},
};
constexpr int kFirstDiveCount = std::size(kFirstDives);
constexpr int64_t kRestartFails = 300;

int64_t luby(int64_t i) {
  while (true) {
    int64_t power = 1;
    while (power < i + 1) power *= 2;
    if (power == i + 1) return power / 2;
    i -= power / 2 - 1;
  }
}

template <class Key>
class RestartingSearch : public memory::ValleySearch {
 public:
  explicit RestartingSearch(const Packing& packing)
      : packing_(packing), skyline_(packing), learned_(packing.section_count) {
    load_.assign(packing.section_count, 0);
    for (const PackingItem& item : packing.items) {
      for (const SectionSpan& span : item.spans) {
        for (int32_t s = span.begin; s < span.end; ++s) load_[s] += item.size;
      }
    }
  }

  SearchResult run(const std::vector<int32_t>& largest_offsets, const std::vector<int32_t>& guide, uint64_t seed,
                   int64_t work_limit) override {
    SearchResult result;
    guide_ = guide;
    guide_top_ = guide.empty() ? 0 : 1 + *std::max_element(guide.begin(), guide.end());
    const int64_t work_before = skyline_.work();
    int32_t capacity = 0;
    for (size_t i = 0; i < packing_.items.size(); ++i) {
      capacity = std::max(capacity, largest_offsets[i] + packing_.items[i].size);
    }
    if (!skyline_.reset(capacity, largest_offsets)) {
      result.verdict = SearchVerdict::impossible;
    } else {
      result.verdict = restart_until_done(seed, work_before + work_limit);
    }
    if (result.verdict == SearchVerdict::found) {
      for (size_t i = 0; i < packing_.items.size(); ++i) result.offsets.push_back(skyline_.result(i));
    }
    result.work = skyline_.work() - work_before;
    return result;
  }

 private:
  SearchVerdict restart_until_done(uint64_t seed, int64_t work_limit) {
    SmallRandom random(seed);
    Descent<Key> descent(packing_, skyline_, random);
    std::fill(learned_.begin(), learned_.end(), 0.0f);
    for (int64_t round = 0; skyline_.work() < work_limit; ++round) {
      const Dive dive = next_dive(round, random);
      set_ranks(dive.rule, descent.rank());
      set_weights(dive.use_weights, descent.weight());
      DescentSettings settings;
      settings.noise = dive.noise;
      settings.flush_bonus = dive.flush_bonus;
      settings.lowest_valley = dive.lowest_valley;
      settings.fail_limit = dive.fail_limit;
      settings.late_first = dive.late_first;
      const std::vector<float> before = descent.weight();
      const Outcome outcome = descent.run(settings, work_limit);
      if (outcome == Outcome::solved) return SearchVerdict::found;
      if (outcome == Outcome::failed) return SearchVerdict::impossible;
      for (size_t s = 0; s < before.size(); ++s) learned_[s] += descent.weight()[s] - before[s];
      if (descent.failed_states().size() > kStateLimit) descent.failed_states().clear();
    }
    return SearchVerdict::stopped;
  }

  // Large items first and tops flush with their neighbours succeed most often, the rest is for variety; much noise
  // makes a dive lucky more often than it misleads.
  Dive next_dive(int64_t round, SmallRandom& random) const {
    if (round < kFirstDiveCount) return kFirstDives[round];
    constexpr RankRule kRules[] = {RankRule::size, RankRule::size,       RankRule::size,       RankRule::size,
                                   RankRule::size, RankRule::contention, RankRule::contention, RankRule::area};
    Dive dive;
    dive.rule = kRules[random.below(8)];
    dive.flush_bonus = random.below(8) != 0 ? 2 : 0;
    dive.noise = 0.6 + 0.9 * random.unit();
    dive.lowest_valley = random.below(3) == 0;
    dive.use_weights = random.below(16) == 0;
    dive.late_first = random.below(4) == 0;  // both directions of time
    dive.fail_limit = kRestartFails * luby(round - kFirstDiveCount + 1);
    if (!guide_.empty() && random.below(2) == 0) {
      // Little noise: near the guide is where the next packing is.
      dive.rule = RankRule::guide;
      dive.flush_bonus = random.below(2) == 0 ? 0 : 0.2;
      dive.noise = 0.1 * random.unit();
    }
    return dive;
  }

  void set_weights(bool use, std::vector<float>& weight) {
    for (size_t s = 0; s < weight.size(); ++s) weight[s] = use ? 1 + learned_[s] : 1;
    if (!use) return;
    for (float& learned : learned_) learned *= 0.98f;
  }

  void set_ranks(RankRule rule, std::vector<double>& rank) const {
    for (size_t i = 0; i < packing_.items.size(); ++i) {
      // What lies low in the guide goes first.
      rank[i] = rule == RankRule::guide ? guide_top_ - guide_[i] : rank_of(rule, packing_.items[i]);
    }
  }

  double rank_of(RankRule rule, const PackingItem& item) const {
    double length = 0;
    for (const SectionSpan& span : item.spans) length += span.end - span.begin;
    const double size = item.size;
    switch (rule) {
      case RankRule::area:
        return length * size;
      case RankRule::lifetime:
        return length * 1e6 + size;
      case RankRule::size:
        return size;
      case RankRule::root_area:
        return std::sqrt(size) * length;
      case RankRule::guide:
        break;
      case RankRule::contention:
        return fullest(item) * 1e9 + length * 1e5 + size;
    }
    return 0;
  }

  double fullest(const PackingItem& item) const {
    int64_t fullest = 0;
    for (const SectionSpan& span : item.spans) {
      for (int32_t s = span.begin; s < span.end; ++s) fullest = std::max(fullest, load_[s]);
    }
    return static_cast<double>(fullest);
  }

  static constexpr size_t kStateLimit = size_t{1} << 22;

  const Packing& packing_;
  Skyline<Key> skyline_;
  std::vector<int64_t> load_;
  std::vector<float> learned_;
  std::vector<int32_t> guide_;
  double guide_top_ = 0;
};

}  // namespace

std::unique_ptr<memory::ValleySearch> make_valley_search(const Packing& packing, int32_t largest_capacity) {
  // Half the bytes a key, twice the keys a vector.
  if (largest_capacity < Skyline<int16_t>::kPlaced) return std::make_unique<RestartingSearch<int16_t>>(packing);
  return std::make_unique<RestartingSearch<int32_t>>(packing);
}

}  // namespace tidemark::TM_ISA_NAMESPACE
