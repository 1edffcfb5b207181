#include "memory/recompute/arena_loose_fit.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "memory/recompute/arena_fit.h"
#include "memory/recompute/arena_loosen.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kOffsetWork = 200'000;
constexpr int64_t kWorkPerMove = 40;  // of the planner's limit
constexpr double kFullShares[] = {0.9, 0.93, 0.87, 0.91};

// Limits on the cost above the base: nothing, then this share of the trace's cost, doubled with every level.
constexpr double kFirstAllowance = 0.001;
constexpr int kLevels = 11;
constexpr int kAttemptsPerLevel = 20;
constexpr uint64_t kAnyStartEvery = 3;
constexpr int kMostRepeats = 4;  // plans seen before, one after the other: the level has no others

// Of the budget: cut from the planner's for another plan, doubled with every level.
constexpr double kFirstCut = 0.0025;
constexpr int kBisections = 3;

constexpr int kLastAttempts = 24;  // beyond the levels, while there is no plan; then again as many for a cheaper one
constexpr int kMostFailures = 16;  // one after the other
// Of what the best plan costs above the base: the next limits.
constexpr double kLimits[] = {0.7, 0.85};
constexpr double kCheapEnough = 0.0005;  // of the trace's cost above the base

class LooseFit {
 public:
  LooseFit(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
           const RecomputeOptions& options, const RecomputePlan& base)
      : planner_(planner),
        trace_(trace),
        budget_(budget_bytes),
        options_(options),
        problem_(trace),
        loosener_(problem_, static_cast<double>(budget_bytes)),
        base_cost_(static_cast<double>(base.extra_cost)),
        trace_cost_(static_cast<double>(std::max<int64_t>(total_cost(trace), 1))) {
    options_.offset_options.work_limit = std::min(options_.offset_options.work_limit, kOffsetWork);
    starts_.push_back(loosener_.plan_of(base.schedule.steps));
    tried_.insert(base.schedule.steps);
  }

  RecomputePlan run() {
    double limit = base_cost_;
    bool fits = try_often(limit, kAttemptsPerLevel);
    for (int level = 1; level < kLevels && !fits; ++level) {
      const auto doubled = static_cast<double>(1 << (level - 1));
      try_cut(kFirstCut * doubled);
      limit = base_cost_ + kFirstAllowance * doubled * trace_cost_;
      if (found() && static_cast<double>(best_.extra_cost) <= limit) break;
      fits = try_often(limit, kAttemptsPerLevel);
    }
    if (!found()) try_often(limit, kLastAttempts);
    if (best_cut_ > 0) bisect_cuts();
    if (found()) look_for_cheaper();
    best_.work = work_ + loosener_.flips();
    return std::move(best_);
  }

 private:
  enum class Outcome { fits, does_not_fit, seen_before };

  bool found() const { return !best_.schedule.steps.empty(); }

  // Until a plan fits.
  bool try_often(double cost_limit, int attempts) {
    int repeats = 0;
    for (int i = 0; i < attempts && repeats < kMostRepeats; ++i) {
      const Outcome outcome = attempt(cost_limit);
      if (outcome == Outcome::fits) return true;
      repeats = outcome == Outcome::seen_before ? repeats + 1 : 0;
    }
    return false;
  }

  void look_for_cheaper() {
    int failures = 0;
    for (int i = 0; i < kLastAttempts && failures < kMostFailures; ++i) {
      const double above = static_cast<double>(best_.extra_cost) - base_cost_;
      if (above < kCheapEnough * trace_cost_) return;
      const double limit = kLimits[static_cast<size_t>(failures) % std::size(kLimits)];
      failures = attempt(base_cost_ + limit * above) == Outcome::fits ? 0 : failures + 1;
    }
  }

  // The planner's own plan for a lower budget: a start for more, and perhaps already what is looked for.
  void try_cut(double cut) {
    if (out_of_reach_) return;
    const int64_t budget = budget_ - static_cast<int64_t>(cut * static_cast<double>(budget_));
    options_.seed += kSeedStep;
    RecomputePlan plan = planner_.best_effort(trace_, budget, options_);
    work_ += plan.work;
    out_of_reach_ = plan.peak_live_bytes > budget;
    if (plan.peak_live_bytes > budget_ || !tried_.insert(plan.schedule.steps).second) return;
    starts_.push_back(loosener_.plan_of(plan.schedule.steps));
    const bool is_cheaper = !found() || plan.extra_cost < best_.extra_cost;
    if (is_cheaper && keep_if_it_fits(std::move(plan))) best_cut_ = cut;
  }

  // Where a plan of the planner itself is the best, a smaller cut may do.
  void bisect_cuts() {
    double fails = best_cut_ > kFirstCut ? best_cut_ / 2 : 0;
    for (int i = 0; i < kBisections; ++i) {
      const double middle = (best_cut_ + fails) / 2;
      try_cut(middle);
      if (best_cut_ > middle) fails = middle;
    }
  }

  bool keep_if_it_fits(RecomputePlan plan) {
    ++options_.offset_options.seed;
    if (!lay_out_within(trace_, budget_, options_, plan)) return false;
    best_ = std::move(plan);
    best_cut_ = 0;
    return true;
  }

  // Mostly the least full, now and then any: the others lead elsewhere.
  const Loosener::Plan& choose_start(double cost_limit) const {
    const Loosener::Plan* best = &starts_.front();
    for (const Loosener::Plan& start : starts_)
      if (start.extra_cost <= cost_limit && start.fullness < best->fullness) best = &start;
    if (attempts_ % kAnyStartEvery != 0) return *best;
    const Loosener::Plan& any = starts_[recompute::Random(options_.seed + attempts_).next() % starts_.size()];
    return any.extra_cost <= cost_limit ? any : *best;
  }

  Outcome attempt(double cost_limit) {
    ++attempts_;
    LooseningOptions loosening;
    loosening.extra_cost_limit = cost_limit;
    loosening.full_share = kFullShares[attempts_ % std::size(kFullShares)];
    loosening.moves = options_.work_limit / kWorkPerMove;
    loosening.seed = options_.seed + attempts_;
    Loosener::Plan loosened = loosener_.loosen(choose_start(cost_limit), loosening);
    if (loosened.extra_cost > cost_limit) return Outcome::seen_before;
    RecomputePlan plan = make_plan(trace_, loosener_.steps_of(loosened), std::string(planner_.name()), 0);
    const bool is_new = tried_.insert(plan.schedule.steps).second;
    if (is_new) starts_.push_back(std::move(loosened));
    // The search for offsets has another seed each time, so a second look is worth as much as a new plan.
    if (keep_if_it_fits(std::move(plan))) return Outcome::fits;
    return is_new ? Outcome::does_not_fit : Outcome::seen_before;
  }

  static constexpr uint64_t kSeedStep = 1'000'003;  // so that no two attempts share a seed

  const RecomputePlanner& planner_;
  const StepTrace& trace_;
  const int64_t budget_;
  RecomputeOptions options_;
  const recompute::Problem problem_;
  Loosener loosener_;
  const double base_cost_;
  const double trace_cost_;
  std::vector<Loosener::Plan> starts_;  // the base first, then whatever was found
  std::set<std::vector<int32_t>> tried_;
  RecomputePlan best_;   // without steps: none yet
  double best_cut_ = 0;  // that made it; 0: none did
  bool out_of_reach_ = false;
  uint64_t attempts_ = 0;
  int64_t work_ = 0;
};

}  // namespace

RecomputePlan fit_by_loosening(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                               const RecomputeOptions& options, const RecomputePlan& base) {
  return LooseFit(planner, trace, budget_bytes, options, base).run();
}

}  // namespace tidemark::memory
