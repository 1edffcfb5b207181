#include "memory/recompute/overhead_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "memory/recompute/bound/branch_and_bound.h"
#include "memory/recompute/bound/checkpoint_program.h"
#include "memory/recompute/bound/implied_plan.h"

namespace tidemark::memory {
namespace {

using recompute::CheckpointProgram;
using recompute::IntegerBound;
using recompute::StageBytes;
using Stages = std::vector<int32_t>;

constexpr size_t kCandidates = 8;
constexpr int64_t kFirstShare = 6;  // of the work, for the worst stage alone
constexpr int64_t kTrialShare = 8;  // of the work that is left, for trials
// A program is left when its bound is this near its optimum: more stages say more.
constexpr double kGap = 3e-3;
constexpr int64_t kWorkPerTerm = 10;   // to make a program
constexpr double kHopeless = 4;        // times the work that a program has: not begun
constexpr int64_t kRerunShare = 1500;  // of the work: terms of repeated runs between two stages, at most

class BoundSearch {
 public:
  BoundSearch(const recompute::Problem& problem, double budget_bytes, double enough, int64_t work_limit)
      : problem_(problem),
        budget_(budget_bytes),
        scale_(problem.total_cost / problem.step_count),
        enough_(enough / scale_),
        work_limit_(work_limit) {}

  // Of the extra cost.
  double run(int32_t worst_stage) {
    Look last = look({worst_stage}, 0, work_limit_ / kFirstShare);
    bool looked_around = false;  // for further stages to the last look's
    while (goes_on() && !last.result.solution.empty()) {
      const std::vector<recompute::Run> runs = implied_runs(problem_, last.program, last.result.solution);
      const StageBytes bytes = bytes_of_runs(problem_, runs);
      if (!has_candidate(bytes, last.program.stages)) {
        if (std::exchange(looked_around, true)) break;
        find_candidates(bytes, last);
      }
      if (candidates_.empty() || !goes_on()) break;
      Look next = look_with(last, std::move(candidates_.back()));
      candidates_.pop_back();
      if (next.result.solution.empty()) continue;
      last = std::move(next);
      looked_around = false;
    }
    // What is left of the work goes to the program that said most, if that is more than it had.
    if (goes_on() && work_limit_ - work_ > best_work_) bound(CheckpointProgram(best_), work_limit_, 0);
    return bound_ * scale_;
  }

 private:
  struct Look {
    CheckpointProgram program;
    IntegerBound result;
  };

  // Further stages, and what was found with them beside others.
  struct Candidate {
    Stages stages;
    Look look;
  };

  bool goes_on() const { return bound_ < enough_ && work_ < work_limit_; }

  IntegerBound bound(const CheckpointProgram& program, int64_t work_limit, double gap) {
    IntegerBound result = branch_and_bound(program.linear, {std::min(work_limit, work_limit_ - work_), enough_, gap});
    work_ += result.work;
    if (result.bound <= bound_) return result;
    bound_ = result.bound;
    best_ = program;
    best_work_ = result.work;
    return result;
  }

  // No solution where the program is too large for the work, by the work and the rows of a smaller one.
  Look look(Stages stages, double work_of_row, int64_t work_limit) {
    std::sort(stages.begin(), stages.end());
    Look look;
    look.program =
        make_checkpoint_program(problem_, budget_, std::move(stages), {scale_, enough_, work_limit_ / kRerunShare});
    work_ += kWorkPerTerm * look.program.linear.terms();
    const double rows = look.program.linear.rows();
    if (work_of_row * rows * std::sqrt(rows) < kHopeless * static_cast<double>(work_limit))
      look.result = bound(look.program, work_limit, kGap);
    return look;
  }

  // By the power of the rows that the work of linear programs grows with, about.
  static double work_of_row(const Look& look) {
    const double rows = std::max(look.program.linear.rows(), 1);
    return static_cast<double>(look.result.root_work) / (rows * std::sqrt(rows));
  }

  Look look_with(const Look& before, Candidate candidate) {
    Stages stages(before.program.stages);
    stages.insert(stages.end(), candidate.stages.begin(), candidate.stages.end());
    std::sort(stages.begin(), stages.end());
    if (candidate.look.result.solved && candidate.look.program.stages == stages) return std::move(candidate.look);
    return look(std::move(stages), work_of_row(before), (work_limit_ - work_) / 4 * 3);
  }

  // Is the last candidate one that the plan does not respect yet? Those that it does are dropped.
  bool has_candidate(const StageBytes& bytes, const Stages& known) {
    for (; !candidates_.empty(); candidates_.pop_back()) {
      Stages& stages = candidates_.back().stages;
      std::erase_if(stages, [&](int32_t t) { return std::binary_search(known.begin(), known.end(), t); });
      if (std::any_of(stages.begin(), stages.end(),
                      [&](int32_t t) { return std::max(bytes.base[t], bytes.again[t]) > budget_; }))
        return true;
    }
    return false;
  }

  // Tries as many as a share of the work allows; the others come after these, the worst first.
  void find_candidates(const StageBytes& bytes, const Look& before) {
    const std::vector<Stages> sets = further_stages(bytes, budget_, before.program.stages, kCandidates);
    const int64_t trial_work = (work_limit_ - work_) / kTrialShare;
    const size_t affordable =
        std::min(sets.size(), static_cast<size_t>(trial_work / (3 * before.result.root_work + 1)));
    for (size_t i = 0; i < sets.size(); ++i) {
      candidates_.push_back({sets[i], {}});
      candidates_.back().look.result.bound = -static_cast<double>(i);
      if (affordable < 2 || i >= affordable || !goes_on()) continue;
      Stages stages(before.program.stages);
      stages.insert(stages.end(), sets[i].begin(), sets[i].end());
      candidates_.back().look =
          look(std::move(stages), work_of_row(before), trial_work / static_cast<int64_t>(affordable));
    }
    std::stable_sort(candidates_.begin(), candidates_.end(),
                     [](const Candidate& a, const Candidate& b) { return a.look.result.bound < b.look.result.bound; });
  }

  const recompute::Problem& problem_;
  const double budget_;
  const double scale_;
  const double enough_;
  const int64_t work_limit_;
  std::vector<Candidate> candidates_;  // the best last
  double bound_ = 0;
  CheckpointProgram best_;  // has this bound
  int64_t best_work_ = 0;
  int64_t work_ = 0;
};

}  // namespace

int64_t extra_cost_lower_bound(const StepTrace& trace, int64_t budget_bytes, const OverheadBoundOptions& options) {
  const recompute::Problem problem(trace);
  const auto budget = static_cast<double>(budget_bytes);
  const recompute::PlanState plain(problem, budget);
  if (plain.fits() || problem.total_cost <= 0 || options.known_cost <= 0) return 0;
  const std::vector<double>& bytes = plain.stage_bytes();
  const auto worst = static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  // Costs are whole: a bound just above the next lower one is as good.
  const double enough = static_cast<double>(std::min(options.known_cost, total_cost(trace))) - 0.99;
  const double bound = BoundSearch(problem, budget, enough, options.work_limit).run(worst);
  // Costs are whole; the allowance covers the rounding of the sums.
  const double extra = std::ceil(bound * (1 - 1e-9) - 1e-6);
  return std::clamp<int64_t>(static_cast<int64_t>(extra), 0, options.known_cost);
}

}  // namespace tidemark::memory
