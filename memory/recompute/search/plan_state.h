// A schedule under construction, changed one run at a time.
//
// Note [Runs and stages]
// The trace's own order is cut into stages: stage t holds the runs between base step t - 1 and base step t, the base
// step included, in base order. A plan is a set of pairs (stage, step): "run this step once more in that stage". Every
// set is a valid schedule: a run reads the latest copy of each input, and a copy lives until its last reader before the
// next copy, so inputs extend by themselves. Only the bytes can be too many. So the search needs no feasibility rules:
// it flips pairs and looks at the bytes. Bytes of a stage = base (copies that cross the whole stage) + local (the peak
// of what begins, ends or runs in it). A flip changes the base over ranges of stages, and the local part of a handful.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "memory/recompute/search/problem.h"
#include "memory/recompute/search/stage_list.h"

namespace tidemark::memory::recompute {

struct Run {
  int32_t stage = 0;
  int32_t step = 0;
  bool operator==(const Run&) const = default;
  auto operator<=>(const Run&) const = default;
};

// The stage of each run of a sequence of the trace's steps; behind the last first run: step_count - 1.
std::vector<int32_t> stages_of(const Problem& problem, const std::vector<int32_t>& steps);

class PlanState {
 public:
  // The problem must outlive the state. Starts as the plain order. Budgets are whole numbers: all sums are then exact.
  PlanState(const Problem& problem, double budget_bytes);

  const Problem& problem() const { return problem_; }
  double budget_bytes() const { return budget_; }
  // Keeps the runs, counts the excess anew, forgets the journal.
  void set_budget(double budget_bytes);

  // Adds the run, or removes it if it is there. The bytes are right after the next settle().
  void flip(Run run);
  void settle();
  void flip_and_settle(Run run) {
    flip(run);
    settle();
  }
  // A point to come back to. The state must be settled.
  size_t mark() const { return journal_.size(); }
  // Cheaper than the flips were: what they changed is written down, not found again.
  void undo_to(size_t mark);
  void forget_journal();
  const std::vector<Run>& journal() const { return journal_; }

  // Makes this the plan with exactly these extra runs.
  void assign(const std::vector<Run>& runs);
  std::vector<Run> extra_runs() const;    // ordered
  std::vector<int32_t> sequence() const;  // steps of the trace

  double extra_cost() const { return extra_cost_; }
  double excess() const { return excess_; }  // sum over stages of the bytes above the budget
  bool fits() const { return excess_ <= 0; }
  double stage_bytes(int32_t stage) const { return bytes_[stage]; }
  const std::vector<double>& stage_bytes() const { return bytes_; }
  int64_t flips() const { return flips_; }
  int32_t extra_count() const { return extra_count_; }

  bool has_extra(int32_t stage) const { return !local_[stage].empty(); }
  const std::vector<int32_t>& extra_steps(int32_t stage) const { return local_[stage]; }
  bool runs_at(int32_t step, int32_t stage) const { return runs_[step].last_up_to(stage) == stage; }
  // First stage > stage in which the step runs, or kNever.
  int32_t next_run(int32_t step, int32_t stage) const { return runs_[step].next_after(stage); }
  // Last stage <= stage in which the step runs, or -1.
  int32_t latest_run(int32_t step, int32_t stage) const { return runs_[step].last_up_to(stage); }
  // End (stage of the last reader) of the copy of a value that is latest at a stage.
  int32_t end_of_latest(int32_t value, int32_t stage) const {
    const StageList::Neighbours runs = runs_[problem_.maker[value]].around(stage);
    return end_of_copy(value, runs.last, runs.next);
  }
  // Is there a reader in a stage > stage, of this copy or a later one?
  bool is_read_after(int32_t value, int32_t stage) const { return reads_[value].back() > stage; }
  // First stage > stage with a reader, or kNever; last stage <= stage with a reader, or -1.
  int32_t next_read(int32_t value, int32_t stage) const { return reads_[value].next_after(stage); }
  int32_t last_read(int32_t value, int32_t stage) const { return reads_[value].last_up_to(stage); }
  StageList::Neighbours runs_around(int32_t step, int32_t stage) const { return runs_[step].around(stage); }
  StageList::Neighbours reads_around(int32_t value, int32_t stage) const { return reads_[value].around(stage); }
  // True only if some stage would be above the budget without this extra run; a fast look that does not see all.
  bool is_needed(Run run) const;
  // By how much the excess would grow if the stages [begin, end) held so many bytes more.
  double excess_growth(int32_t begin, int32_t end, double bytes) const;

 private:
  // Where the logs stood, and what the sums were, before a flip.
  struct Before {
    double excess = 0;
    double extra_cost = 0;
    size_t ranges = 0;
    size_t locals = 0;
  };
  struct Range {
    int32_t begin = 0;
    int32_t end = 0;
    double bytes = 0;
  };
  struct Local {
    int32_t stage = 0;
    double bytes = 0;  // before
  };

  // Of the copy made at stage `made`, the next one being made at `next_made`.
  int32_t end_of_copy(int32_t value, int32_t made, int32_t next_made) const {
    const StageList& reads = reads_[value];
    return std::max(made, reads.back() < next_made ? reads.back() : reads.last_up_to(next_made - 1));
  }
  // Is the value's copy needed after the stage?
  bool goes_on(int32_t value, int32_t stage) const {
    const StageList& reads = reads_[value];
    if (reads.back() <= stage) return false;
    const StageList& runs = runs_[problem_.maker[value]];
    return runs.back() <= stage || reads.next_after(stage) < runs.next_after(stage);
  }
  double local_peak(int32_t stage);
  double local_peak_of_one(int32_t stage) const;
  double made_and_kept(int32_t stage);
  double taken_over(int32_t step, int32_t stage) const;
  void count_at_last_use(int32_t value, int32_t stage, double& live);
  void toggle(Run run);
  void toggle_lists(Run run);
  void insert(Run run);
  void remove(Run run);
  void split_copies(Run run, int32_t made, int32_t next_made, double sign);
  void add_range(int32_t begin, int32_t end, double bytes);
  void touch(int32_t stage);

  const Problem& problem_;
  double budget_;
  std::vector<StageList> runs_;              // by step: all stages in which it runs, its own first
  std::vector<StageList> reads_;             // by value: all stages in which a reader runs, once for each
  std::vector<std::vector<int32_t>> local_;  // by stage: its extra steps, sorted
  std::vector<double> local_bytes_;
  std::vector<double> bytes_;
  double extra_cost_ = 0;
  double excess_ = 0;
  int64_t flips_ = 0;
  int32_t extra_count_ = 0;
  std::vector<uint8_t> touched_;
  std::vector<int32_t> touched_stages_;

  std::vector<Run> journal_;
  std::vector<Before> befores_;  // one for each run of the journal
  std::vector<Range> range_log_;
  std::vector<Local> local_log_;

  // Scratch of local_peak(), by value: stamp_ if it is counted, stamp_ + 1 if it is made in the stage and ends there.
  std::vector<int64_t> seen_;
  int64_t stamp_ = 0;
};

}  // namespace tidemark::memory::recompute
