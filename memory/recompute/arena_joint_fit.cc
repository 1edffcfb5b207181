#include "memory/recompute/arena_joint_fit.h"

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/error.h"
#include "memory/recompute/arena_loosen.h"
#include "memory/recompute/joint_search.h"

namespace tidemark::memory {
namespace {

constexpr int64_t kPlannerWork = 16;  // times the planner's limit
constexpr size_t kLoosened = 8;       // plans, of which the least full are searched from
constexpr size_t kStarts = 4;
constexpr int64_t kUnitsLookedAt = 200;
// A search with less than that gets nowhere.
constexpr int64_t kLeastOffsetWork = 1'000'000;
constexpr int64_t kLooksPerLooseningMove = 40;
constexpr int64_t kWorkPerLook = 5;          // of the limit for offsets
constexpr int64_t kLooksOfARound = 400'000;  // of all starts together
constexpr int64_t kLooksOfAStep = 1'000'000;

// Of the trace's cost.
constexpr double kFirstRoom = 0.07;  // above the base
constexpr double kFirstStep = 0.005;
constexpr double kLeastStep = 0.0005;
constexpr double kNearEnough = 0.001;  // above the base

// Bytes of one offset unit: all alignments divide it, and where there are few sizes it divides most of them.
int64_t unit_of(const StepTrace& trace, int64_t bytes) {
  int64_t alignment = 1;
  std::vector<int64_t> sizes;
  for (const StepValue& value : trace.values) {
    if (value.persistent || value.bytes == 0) continue;
    alignment = std::lcm(alignment, value.alignment);
    sizes.push_back(value.bytes);
  }
  const int64_t least = (bytes + JointSearch::kMostUnits - 1) / JointSearch::kMostUnits;
  int64_t unit = (std::max<int64_t>(least, 1) + alignment - 1) / alignment * alignment;
  // The roundest of the next few wastes least.
  const auto waste = [&](int64_t u) {
    int64_t sum = 0;
    for (int64_t size : sizes) sum += (size + u - 1) / u * u - size;
    return sum;
  };
  int64_t best = unit;
  for (int64_t u = unit; u <= std::min(2 * unit, unit + kUnitsLookedAt * alignment); u += alignment)
    if (waste(u) < waste(best)) best = u;
  return best;
}

class JointFit {
 public:
  JointFit(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
           const RecomputeOptions& options, const RecomputePlan& base, int64_t dearest)
      : planner_(planner),
        trace_(trace),
        budget_(budget_bytes),
        options_(options),
        base_cost_(static_cast<double>(base.extra_cost)),
        dearest_(static_cast<double>(dearest)),
        trace_cost_(static_cast<double>(std::max<int64_t>(total_cost(trace), 1))),
        looks_left_(options.offset_options.work_limit / kWorkPerLook),
        problem_(trace),
        unit_bytes_(unit_of(trace, budget_bytes - trace.fixed_bytes)) {}

  RecomputePlan run() {
    if (JointSearch::can_take(problem_, static_cast<double>(budget_ - trace_.fixed_bytes), unit_bytes_)) {
      start_searches(std::min(base_cost_ + kFirstRoom * trace_cost_, dearest_));
      if (JointSearch* search = search_until_one_fits()) make_cheaper(*search);
    }
    best_.work = work_;
    return std::move(best_);
  }

 private:
  void start_searches(double cost_limit) {
    RecomputeOptions more = options_;
    more.work_limit *= kPlannerWork;
    const RecomputePlan start = planner_.best_effort(trace_, budget_, more);
    work_ += start.work;
    if (start.peak_live_bytes > budget_ || static_cast<double>(start.extra_cost) > cost_limit) return;
    for (const Loosener::Plan& plan : loosen(start, cost_limit)) {
      JointSearchOptions joint;
      joint.extra_cost_limit = cost_limit;
      joint.unit_bytes = unit_bytes_;
      joint.seed = options_.seed * kStarts + searches_.size();
      searches_.push_back(std::make_unique<JointSearch>(problem_, static_cast<double>(budget_), plan.runs, joint));
    }
  }

  // The least full of several.
  std::vector<Loosener::Plan> loosen(const RecomputePlan& plan, double cost_limit) {
    Loosener loosener(problem_, static_cast<double>(budget_));
    const Loosener::Plan start = loosener.plan_of(plan.schedule.steps);
    LooseningOptions loosening;
    loosening.extra_cost_limit = cost_limit;
    loosening.moves = looks_left_ / kLooksPerLooseningMove;
    std::vector<Loosener::Plan> plans;
    for (size_t i = 0; i < kLoosened; ++i) {
      loosening.seed = options_.seed * kLoosened + i;
      plans.push_back(loosener.loosen(start, loosening));
    }
    work_ += loosener.flips();
    std::ranges::stable_sort(plans, {}, &Loosener::Plan::fullness);
    plans.resize(kStarts);
    return plans;
  }

  bool advance(JointSearch& search, int64_t looks) {
    const int64_t before = search.looks();
    const bool fits = search.advance(std::min(looks, looks_left_));
    looks_left_ -= search.looks() - before;
    work_ += search.looks() - before;
    return fits;
  }

  // nullptr: none does.
  JointSearch* search_until_one_fits() {
    while (!searches_.empty() && looks_left_ > 0) {
      for (const auto& search : searches_)
        if (advance(*search, kLooksOfARound / static_cast<int64_t>(searches_.size()))) return search.get();
      std::ranges::stable_sort(searches_, {}, [](const auto& search) { return search->least_overlap(); });
      searches_.resize((searches_.size() + 1) / 2);
    }
    return nullptr;
  }

  void make_cheaper(JointSearch& search) {
    best_ = plan_of(search);
    for (double step = kFirstStep; step >= kLeastStep && looks_left_ > 0;) {
      const auto cost = static_cast<double>(best_.extra_cost);
      if (cost <= base_cost_ + kNearEnough * trace_cost_) return;
      if (!search.lower_cost_limit(cost - step * trace_cost_)) return;
      if (advance(search, kLooksOfAStep)) {
        best_ = plan_of(search);
      } else {
        step /= 2;
      }
    }
  }

  RecomputePlan plan_of(const JointSearch& done) const {
    RecomputePlan plan = make_plan(trace_, done.steps(), std::string(planner_.name()), 0);
    plan.offsets.offsets = offsets(done, plan.schedule);
    const Trace arena = arena_trace(trace_, plan.schedule);
    for (size_t i = 0; i < arena.buffers.size(); ++i)
      plan.offsets.peak_bytes = std::max(plan.offsets.peak_bytes, plan.offsets.offsets[i] + arena.buffers[i].bytes);
    plan.offsets.lower_bound_bytes = plan.peak_live_bytes - trace_.fixed_bytes;
    plan.offsets.proven_optimal = plan.offsets.peak_bytes == plan.offsets.lower_bound_bytes;
    plan.offsets.planner = "joint";
    plan.peak_arena_bytes = trace_.fixed_bytes + plan.offsets.peak_bytes;
    const std::string fault = find_plan_fault(arena, plan.offsets);
    TM_CHECK(fault.empty() && plan.peak_arena_bytes <= budget_, "a joint layout that does not fit: " + fault);
    return plan;
  }

  // Bytes, in the order of arena_trace().
  std::vector<int64_t> offsets(const JointSearch& done, const Schedule& schedule) const {
    const std::vector<int32_t> stages = recompute::stages_of(problem_, schedule.steps);
    std::vector<int32_t> number(trace_.values.size(), -1);  // of the problem's values
    int32_t numbers = 0;
    for (size_t v = 0; v < number.size(); ++v)
      if (!trace_.values[v].persistent) number[v] = numbers++;
    std::vector<int64_t> result;
    for (const ValueInstance& instance : schedule.instances) {
      if (trace_.values[instance.value].bytes == 0 || instance.end <= instance.begin) continue;
      const int32_t value = number[instance.value];
      const int32_t made = problem_.maker[value] < problem_.first_step ? 0 : stages[instance.begin];
      result.push_back(static_cast<int64_t>(done.offset_of(value, made)) * unit_bytes_);
    }
    for (size_t i = 0; i < schedule.steps.size(); ++i) {
      if (trace_.steps[schedule.steps[i]].workspace_bytes <= 0) continue;
      const int32_t owner = problem_.value_count() + problem_.first_step + schedule.steps[i];
      result.push_back(static_cast<int64_t>(done.offset_of(owner, stages[i])) * unit_bytes_);
    }
    return result;
  }

  const RecomputePlanner& planner_;
  const StepTrace& trace_;
  const int64_t budget_;
  const RecomputeOptions& options_;
  const double base_cost_, dearest_, trace_cost_;
  int64_t looks_left_;
  const recompute::Problem problem_;
  const int64_t unit_bytes_;
  std::vector<std::unique_ptr<JointSearch>> searches_;
  RecomputePlan best_;  // without steps: none yet
  int64_t work_ = 0;
};

}  // namespace

RecomputePlan fit_jointly(const RecomputePlanner& planner, const StepTrace& trace, int64_t budget_bytes,
                          const RecomputeOptions& options, const RecomputePlan& base, int64_t dearest) {
  if (options.offset_options.work_limit < kLeastOffsetWork) return {};
  return JointFit(planner, trace, budget_bytes, options, base, dearest).run();
}

}  // namespace tidemark::memory
