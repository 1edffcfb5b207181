// A schedule and its layout, searched for together.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "memory/recompute/search/least_overlap.h"
#include "memory/recompute/search/placed_copies.h"
#include "memory/recompute/search/plan_state.h"
#include "memory/recompute/search/random.h"
#include "memory/recompute/search/run_moves.h"

namespace tidemark::memory {

struct JointSearchOptions {
  double extra_cost_limit = 0;
  int64_t unit_bytes = 1;  // offsets are multiples of this, and sizes count as such; a multiple of all alignments
  uint64_t seed = 1;
};

// Note [Joint search]
// The problem: at a budget near the least one, every stage is full to a few parts in a thousand. No schedule of that
// cost packs as it stands, however long offsets are searched for; and a schedule with room to spare costs half as much
// again.
//
// The idea: what does not fit is seen only in the layout, and a schedule can be changed just there. All copies lie
// within the budget and may overlap (memory/arena/search/overlap_search.cc, Note [Overlap search]): offsets are
// improved one copy at a time, and at every local minimum the overlapping pairs get heavier. Then runs are changed,
// mostly those that make one of an overlapping pair: made again behind the overlap, moved, or dropped. A copy that is
// made anew finds itself the best place; all others keep theirs. The change stays if the schedule is within the budget
// and the cost, the overlaps weigh no more than before, and the stages get hardly fuller (fullness.h). Weights belong
// to pairs of values, so that they outlive copies.
//
// Limits: tables of all pairs (kMostOwners) and of all offsets (kMostUnits). Most starts end in bad regions.
class JointSearch {
 public:
  static constexpr int32_t kMostOwners = 1500;  // values and steps
  static constexpr int32_t kMostUnits = 16384;

  // Whether a search is possible in so many bytes, without the fixed ones: each value and workspace must fit them in
  // whole units.
  static bool can_take(const recompute::Problem& problem, double bytes, int64_t unit_bytes);

  // Starts from a plan with these extra runs that is within the budget (fixed bytes included) and the cost, all copies
  // anywhere. The problem must outlive it, and can_take() it.
  JointSearch(const recompute::Problem& problem, double budget_bytes, const std::vector<recompute::Run>& start,
              const JointSearchOptions& options);
  JointSearch(const JointSearch&) = delete;
  JointSearch& operator=(const JointSearch&) = delete;

  // Goes on until nothing overlaps (true), or best places have been looked for about so many times more.
  bool advance(int64_t looks);

  // For a cheaper plan from here on: takes out what overlaps least without, until the plan is within the limit. False,
  // and nothing to go on with, if it cannot.
  bool lower_cost_limit(double extra_cost);
  double extra_cost() const { return state_.extra_cost(); }

  int64_t looks() const { return looks_; }
  int64_t least_overlap() const { return least_overlap_; }  // units, over all pairs, at the best moment

  std::vector<int32_t> steps() const { return state_.sequence(); }  // of the trace
  // Units, of what a run makes in a stage (the problem's): a value, or value_count + step for a step's workspace.
  int32_t offset_of(int32_t owner, int32_t made) const { return placed_.offset_of(owner, made); }

 private:
  struct Overlap {
    int32_t first = 0, second = 0;  // copies
    int32_t units = 0;
  };

  int32_t& weight(int32_t a, int32_t b) { return weights_[static_cast<size_t>(a) * owners_ + b]; }
  int32_t weight(int32_t a, int32_t b) const { return weights_[static_cast<size_t>(a) * owners_ + b]; }
  void push(int32_t copy);
  void gather(const recompute::PlacedCopy& copy);
  int64_t cost_here(int32_t copy);
  recompute::LeastOverlap::Best best_offset(int32_t copy);
  void improve(int32_t copy);
  void settle(int64_t end);
  void find_overlaps(std::vector<Overlap>& out) const;
  void find_overlaps_after(const std::vector<int32_t>& changed);
  void add_overlap(int32_t a, int32_t b, std::vector<Overlap>& out) const;
  int64_t weight_of(const std::vector<Overlap>& overlaps) const;
  void raise_weights();
  void propose();
  void propose_for_overlap();
  void change_runs();
  bool is_allowed();
  const std::vector<int32_t>& follow_journal();
  void keep_change(const std::vector<int32_t>& changed);
  bool make_cheaper();
  void place_changed(const std::vector<int32_t>& changed);

  const recompute::Problem& problem_;
  JointSearchOptions options_;
  const int32_t capacity_;  // units
  const size_t owners_;
  recompute::Random random_;
  recompute::PlanState state_;
  recompute::RunMoves moves_;
  recompute::PlacedCopies placed_;
  recompute::LeastOverlap places_;
  std::vector<int32_t> weights_;  // of each pair of owners
  std::vector<Overlap> overlaps_, overlaps_after_;
  double fullness_ = 0;
  std::vector<int32_t> queue_;  // copies whose neighbourhood changed
  std::vector<char> is_queued_, is_changed_;
  std::vector<int32_t> neighbours_;  // of the copy in hand
  int64_t looks_ = 0;
  int64_t least_overlap_ = std::numeric_limits<int64_t>::max();
};

}  // namespace tidemark::memory
