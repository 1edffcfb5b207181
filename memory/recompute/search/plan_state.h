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

namespace tidemark::memory::recompute {

constexpr int32_t kNever = 1 << 29;  // a stage after all stages

struct Run {
  int32_t stage = 0;
  int32_t step = 0;
  bool operator==(const Run&) const = default;
  auto operator<=>(const Run&) const = default;
};

class PlanState {
 public:
  // The problem must outlive the state. Starts as the plain order. Budgets are whole numbers: all sums are then exact.
  PlanState(const Problem& problem, double budget_bytes);

  const Problem& problem() const { return problem_; }
  double budget_bytes() const { return budget_; }
  // Keeps the runs, counts the excess anew.
  void set_budget(double budget_bytes);

  // Adds the run, or removes it if it is there. The bytes are right after the next settle().
  void flip(Run run);
  void settle();
  void flip_and_settle(Run run) {
    flip(run);
    settle();
  }
  size_t mark() const { return journal_.size(); }
  void undo_to(size_t mark);  // settles
  void forget_journal() { journal_.clear(); }
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
  bool runs_at(int32_t step, int32_t stage) const {
    const std::vector<int32_t>& stages = extra_[step];
    return step == stage || (!stages.empty() && std::binary_search(stages.begin(), stages.end(), stage));
  }
  // First stage > stage in which the step runs, or kNever.
  int32_t next_run(int32_t step, int32_t stage) const {
    if (step > stage) return step;
    const std::vector<int32_t>& stages = extra_[step];
    if (stages.empty()) return kNever;
    const auto next = std::upper_bound(stages.begin(), stages.end(), stage);
    return next == stages.end() ? kNever : *next;
  }
  // Last stage <= stage in which the step runs, or -1.
  int32_t latest_run(int32_t step, int32_t stage) const {
    if (step > stage) return -1;
    const std::vector<int32_t>& stages = extra_[step];
    if (stages.empty()) return step;
    const auto next = std::upper_bound(stages.begin(), stages.end(), stage);
    return next == stages.begin() ? step : *(next - 1);
  }
  // End (stage of the last reader) of the copy of a value that is latest at a stage.
  int32_t end_of_latest(int32_t value, int32_t stage) const;
  // Is there a reader in a stage > stage, of this copy or a later one?
  bool is_read_after(int32_t value, int32_t stage) const {
    const std::span<const int32_t> readers = problem_.readers[value];
    return extra_reads_[value] > 0 || (!readers.empty() && readers.back() > stage);
  }
  int32_t next_read(int32_t value, int32_t stage) const;  // first stage > stage with a reader, or kNever
  int32_t last_read(int32_t value, int32_t stage) const;  // last stage <= stage with a reader, or -1
  // By how much the excess would grow if the stages [begin, end) held so many bytes more.
  double excess_growth(int32_t begin, int32_t end, double bytes) const;

 private:
  int32_t last_plain_read(int32_t value, int32_t stage) const;
  int32_t next_plain_read(int32_t value, int32_t stage) const;
  int32_t end_of_copy(int32_t value, int32_t made, int32_t next_made) const;
  // Does a run in the stages [made, next_made) read the value?
  bool is_read_from(int32_t value, int32_t made, int32_t next_made) const;
  bool goes_on(int32_t value, int32_t stage) const;
  double local_peak(int32_t stage);
  double local_peak_of_one(int32_t stage) const;
  void collect_local(int32_t stage);
  void toggle(Run run);
  void insert(Run run);
  void remove(Run run);
  void split_copies(Run run, int32_t made, int32_t next_made, bool join);
  void remember_input_ends(Run run);
  void adjust_input_ends(Run run);
  void move_end(int32_t value, int32_t made, int32_t from, int32_t to);
  void add_range(int32_t begin, int32_t end, double bytes);
  void touch(int32_t stage);

  const Problem& problem_;
  double budget_;
  std::vector<std::vector<int32_t>> extra_;  // by step: stages of its extra runs, sorted
  std::vector<std::vector<int32_t>> local_;  // by stage: its extra steps, sorted
  std::vector<int32_t> extra_reads_;         // by value: extra runs of its readers
  std::vector<double> local_bytes_;
  std::vector<double> bytes_;
  double extra_cost_ = 0;
  double excess_ = 0;
  int64_t flips_ = 0;
  int32_t extra_count_ = 0;
  std::vector<Run> journal_;
  std::vector<uint8_t> touched_;
  std::vector<int32_t> touched_stages_;

  // Scratch of local_peak() and the flips.
  struct LocalValue {
    int32_t value = 0;
    int32_t begin = 0;
    int32_t last = 0;
  };
  std::vector<LocalValue> local_values_;
  std::vector<int32_t> local_index_;  // by value
  std::vector<int64_t> local_stamp_;  // by value
  int64_t stamp_ = 0;
  std::vector<double> change_;
  std::vector<int32_t> input_ends_;
};

}  // namespace tidemark::memory::recompute
