#include "memory/recompute/arena_fit.h"

#include <algorithm>
#include <limits>

#include "memory/recompute/arena_joint_fit.h"
#include "memory/recompute/arena_loose_fit.h"

namespace tidemark::memory {
namespace {

// Most of the layouts that are asked for fit easily or not at all: one that needs a long search is better served by a
// slightly lower live budget.
constexpr int64_t kOffsetWork = 500'000;
constexpr double kFirstCut = 0.0025;  // of the live budget, doubled with every try
constexpr int kMaxCuts = 7;
constexpr int kBisections = 2;
constexpr int kSeedsPerCut = 3;

// Of the trace's cost, above the plan for live bytes: from here on schedule and layout are searched for together.
constexpr double kTooDear = 0.005;

class ArenaFit {
 public:
  ArenaFit(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
           const RecomputeOptions& options)
      : planner_(planner), trace_(trace), budget_(budget_bytes), options_(options) {
    layout_options_ = options_;
    layout_options_.offset_options.work_limit = std::min(options_.offset_options.work_limit, kOffsetWork);
  }

  RecomputePlan run() {
    RecomputePlan plain = make_plan(trace_, plain_order(trace_), std::string(planner_.name()), 0);
    if (plain.peak_live_bytes <= budget_ && lay_out_within(trace_, budget_, layout_options_, plain)) return plain;
    if (planner_.allows_single_runs()) {
      run_by_run();
    } else {
      cut_by_cut();
    }
    if (!found_) lay_out(trace_, layout_options_, best_);
    best_.work = work_;
    return std::move(best_);
  }

 private:
  enum class Outcome { fits, does_not_fit, out_of_reach };

  void run_by_run() {
    if (attempt_once(0) != Outcome::does_not_fit) return;
    RecomputePlan loose = fit_by_loosening(planner_, trace_, budget_, options_, best_);
    work_ += loose.work;
    found_ = !loose.schedule.steps.empty();
    const double room = kTooDear * static_cast<double>(total_cost(trace_));
    if (found_ && static_cast<double>(loose.extra_cost - best_.extra_cost) <= room) {
      best_ = std::move(loose);
      return;
    }
    const int64_t dearest = found_ ? loose.extra_cost : std::numeric_limits<int64_t>::max();
    RecomputePlan joint = fit_jointly(planner_, trace_, budget_, options_, best_, dearest);
    work_ += joint.work;
    if (!joint.schedule.steps.empty()) {
      best_ = std::move(joint);
      found_ = true;
    } else if (found_) {
      best_ = std::move(loose);
    }
  }

  void cut_by_cut() {
    double fits = -1;  // cut of the live budget
    double fails = 0;
    for (int i = 0; i <= kMaxCuts && fits < 0; ++i) {
      const double cut = i == 0 ? 0 : kFirstCut * static_cast<double>(1 << (i - 1));
      const Outcome outcome = attempt(cut);
      if (outcome == Outcome::out_of_reach) break;
      (outcome == Outcome::fits ? fits : fails) = cut;
    }
    for (int i = 0; i < kBisections && fits > 0; ++i) {
      const double cut = (fits + fails) / 2;
      (attempt(cut) == Outcome::fits ? fits : fails) = cut;
    }
  }

  // Plans of one cost can differ in how well they pack, so several seeds are tried.
  Outcome attempt(double cut) {
    Outcome outcome = Outcome::does_not_fit;
    for (int i = 0; i < kSeedsPerCut && outcome == Outcome::does_not_fit; ++i, ++options_.seed)
      outcome = attempt_once(cut);
    return outcome;
  }

  Outcome attempt_once(double cut) {
    const auto live_budget = budget_ - static_cast<int64_t>(cut * static_cast<double>(budget_));
    RecomputePlan plan = planner_.best_effort(trace_, live_budget, options_);
    work_ += plan.work;
    const bool met = plan.peak_live_bytes <= live_budget;
    const bool fits = plan.peak_live_bytes <= budget_ && lay_out_within(trace_, budget_, layout_options_, plan);
    if (fits && (!found_ || plan.extra_cost < best_.extra_cost)) {
      best_ = std::move(plan);
      found_ = true;
    } else if (!found_ && (best_.schedule.steps.empty() || plan.peak_live_bytes < best_.peak_live_bytes)) {
      best_ = std::move(plan);
    }
    return fits ? Outcome::fits : met ? Outcome::does_not_fit : Outcome::out_of_reach;
  }

  const RecomputePlanner& planner_;
  const StepTrace& trace_;
  const int64_t budget_;
  RecomputeOptions options_, layout_options_;
  RecomputePlan best_;
  bool found_ = false;
  int64_t work_ = 0;
};

}  // namespace

void lay_out(const StepTrace& trace, const RecomputeOptions& options, RecomputePlan& plan) {
  plan.offsets = options.offset_planner->minimize(arena_trace(trace, plan.schedule), options.offset_options);
  plan.peak_arena_bytes = trace.fixed_bytes + plan.offsets.peak_bytes;
}

bool lay_out_within(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions& options,
                    RecomputePlan& plan) {
  FitResult result = options.offset_planner->fit(arena_trace(trace, plan.schedule), budget_bytes - trace.fixed_bytes,
                                                 options.offset_options);
  if (result.fit != Fit::fits) return false;
  plan.offsets = std::move(result.plan);
  plan.peak_arena_bytes = trace.fixed_bytes + plan.offsets.peak_bytes;
  return true;
}

RecomputePlan plan_in_arena(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                            const RecomputeOptions& options) {
  return ArenaFit(planner, trace, budget_bytes, options).run();
}

}  // namespace tidemark::memory
