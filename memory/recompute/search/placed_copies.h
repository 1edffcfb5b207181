// The copies that a plan's runs make, each with a place in the arena: a plan and its layout, changed together.
//
// Note [Stable times]
// When a run of step p in stage t takes place is t * step_count + p, whatever else runs: first runs have p = t, and
// within a stage runs stand in the trace's order (plan_state.h, Note [Runs and stages]). So a flip of one run changes
// the ranges of the copies that its step makes and reads, and no others, and these keep their places.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory::recompute {

struct PlacedCopy {
  int32_t owner = 0;   // value; a step's workspace: value_count + step
  int32_t made = 0;    // stage of the run that makes it
  int32_t begin = 0;   // times, both inclusive: Note [Stable times]
  int32_t end = 0;     // of the last reader; one that takes over the bytes goes on
  int32_t size = 0;    // units
  int32_t offset = 0;  // units; kNowhere

  static constexpr int32_t kNowhere = -1;
  bool exists() const { return begin <= end; }
  bool meets(const PlacedCopy& other) const { return begin <= other.end && other.begin <= end; }
  // Units that both would have, if they meet.
  int32_t overlap(const PlacedCopy& other) const {
    return std::min({offset + size - other.offset, other.offset + other.size - offset, size, other.size});
  }
};

class PlacedCopies {
 public:
  // Times are 32 bits.
  static constexpr int32_t kMostSteps = 40'000;

  // The state must outlive this and have at most kMostSteps steps. No copies at first.
  PlacedCopies(const PlanState& state, double unit_bytes);

  // The copies of the plan, all nowhere. The state must be settled.
  void derive_all();

  int32_t owner_count() const { return static_cast<int32_t>(of_owner_.size()); }
  // In no order; those that do not exist meet no other.
  const std::vector<PlacedCopy>& copies() const { return copies_; }
  void place(int32_t copy, int32_t offset) { copies_[copy].offset = offset; }

  // After flips of these runs, settled: makes the copies those of the plan again. Returns the ones that are new, and
  // nowhere yet, or have another range; valid until the next call.
  const std::vector<int32_t>& follow(const std::vector<Run>& flipped);
  // As before the last follow(), places included; once, and not after accept().
  void undo();
  void accept();

  // The place of what a run makes: the copy of a value, or of the value whose bytes it took over; a workspace.
  // kNowhere if there is none.
  int32_t offset_of(int32_t owner, int32_t made) const;

 private:
  struct End {
    int32_t time = 0;
    double bytes = 0;  // the most of all that share the place
  };
  struct OwnerBefore {
    int32_t owner = 0;
    std::vector<int32_t> copies;
  };
  struct CopyBefore {
    int32_t copy = 0;
    PlacedCopy content;
  };

  int32_t time(int32_t stage, int32_t step) const { return stage * problem_.step_count + step; }
  int32_t last_reader(int32_t value, int32_t stage) const;
  int32_t last_read_stage(int32_t value, int32_t made) const;
  int32_t taken_over_by(int32_t value, int32_t stage, int32_t reader) const;
  bool takes_over(int32_t value, int32_t made) const;
  End end_of(int32_t value, int32_t made) const;
  void derive(int32_t owner, std::vector<PlacedCopy>& out) const;
  void add_owner(int32_t owner);
  void find_owners(const std::vector<Run>& flipped);
  void follow_owner(int32_t owner);
  int32_t find(int32_t owner, int32_t made) const;
  int32_t new_copy();

  const PlanState& state_;
  const Problem& problem_;
  const double unit_bytes_;
  std::vector<std::vector<int32_t>> successors_;  // of each value: those that may take over its bytes
  std::vector<PlacedCopy> copies_;
  std::vector<int32_t> free_;                   // copies that do not exist
  std::vector<std::vector<int32_t>> of_owner_;  // by owner

  // Of the last follow().
  std::vector<int32_t> owners_;
  std::vector<char> is_owner_noted_;
  std::vector<int32_t> changed_;
  std::vector<OwnerBefore> owners_before_;
  std::vector<CopyBefore> copies_before_;
  std::vector<int32_t> created_, gone_;
  std::vector<PlacedCopy> derived_;
};

}  // namespace tidemark::memory::recompute
