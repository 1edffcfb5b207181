// One descent of the valley search: depth-first from an empty skyline until it succeeds, fails everywhere or is cut
// off.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/arena/search/conflict.h"
#include "memory/arena/search/skyline.h"
#include "memory/arena/search/state_set.h"

namespace tidemark::TM_ISA_NAMESPACE {

// xorshift64*: small, and the same everywhere.
class SmallRandom {
 public:
  explicit SmallRandom(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ull + 0x1234567ull) {
    for (int i = 0; i < 4; ++i) next();
  }
  uint64_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return state_ * 0x2545F4914F6CDD1Dull;
  }
  uint32_t below(uint32_t n) { return static_cast<uint32_t>(((next() >> 32) * n) >> 32); }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

struct DescentSettings {
  double noise = 0;            // share by which a candidate's rank is disturbed
  double flush_bonus = 0;      // for a top level with the neighbouring wall, per side
  bool lowest_valley = false;  // take the lowest valley, not the one with the fewest choices
  bool late_first = false;     // of equal sections the last one
  int64_t fail_limit = 100;
};

enum class Outcome { solved, failed, cut };

template <class Key>
class Descent {
 public:
  Descent(const Packing& packing, Skyline<Key>& skyline, SmallRandom& random);

  Outcome run(const DescentSettings& settings, int64_t work_limit);

  std::vector<double>& rank() { return rank_; }     // of each item: the highest is tried first
  std::vector<float>& weight() { return weight_; }  // of each section: grows when it fails
  StateSet& failed_states() { return failed_states_; }
  int64_t fails() const { return fails_; }

 private:
  struct Choice {
    int32_t section = -1;
    double score = 0;
  };

  Outcome solve(int32_t begin, int32_t end);
  Outcome solve_parts(size_t first_part);
  Outcome branch(int32_t begin, int32_t end);
  Outcome try_candidates(int32_t begin, int32_t end, size_t first, size_t last);
  Outcome try_waste(int32_t begin, int32_t end, size_t first, size_t last);
  int32_t choose_section(int32_t begin, int32_t end) const;
  void consider(int32_t section, Choice& best) const;
  void order_candidates(int32_t begin, int32_t end, int32_t floor, size_t first);
  double rank_here(int32_t item, int32_t begin, int32_t end, int32_t floor);
  bool is_twin_of_earlier(size_t first, size_t at) const;
  uint64_t state_hash(int32_t begin, int32_t end) const;
  void note_failure();
  void learn(int32_t level);

  const Packing& packing_;
  Skyline<Key>& skyline_;
  SmallRandom& random_;
  DescentSettings settings_;
  int64_t work_limit_ = 0;
  int64_t fails_ = 0, fail_limit_ = 0;
  std::vector<double> rank_, rank_now_;
  std::vector<float> weight_;
  std::vector<int32_t> first_item_;  // of each section: the first item that begins there or later
  std::vector<uint64_t> item_hash_;
  std::vector<int32_t> stack_;  // candidates and parts of the levels above
  StateSet failed_states_;
  Explainer<Key> explainer_;
  int32_t level_ = 0;              // decisions on the path
  bool jumping_ = false;           // the last failure has nothing to do with the level at hand
  LevelSet conflict_;              // of the last failure: decisions that suffice for it
  std::vector<LevelSet> reasons_;  // of each level: what its failed options had in common with the levels above
};

}  // namespace tidemark::TM_ISA_NAMESPACE
