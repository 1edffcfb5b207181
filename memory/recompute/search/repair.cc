#include "memory/recompute/search/repair.h"

#include <algorithm>

namespace tidemark::memory::recompute {
namespace {

constexpr int kMeasuredCandidates = 12;
// Where the scores are disturbed, exactness is wasted: more rounds find more.
constexpr int kMeasuredWithNoise = 2;
// Then of the ways to run a candidate's step again only one is measured, drawn with these shares.
constexpr double kEarlierShare = 0.5;
constexpr double kKeepShare = 0.3;
constexpr double kCheaperShare = 0.4;
// Runs of one move that finishes a repair.
constexpr size_t kMaxRunsOfFinish = 8;
constexpr int kOtherStages = 6;
constexpr size_t kMaxRuns = 40;
constexpr size_t kMaxRunsDesperate = 400;
// Another good move of the stage is applied if it still has this share of its score, and of the best one's.
constexpr double kOthersShare = 0.8;

constexpr auto lower_bound_first = [](const auto& a, const auto& b) { return a.bound < b.bound; };

}  // namespace

Repair::Repair(PlanState& state, uint64_t seed)
    : state_(state),
      problem_(state.problem()),
      builder_(state),
      random_(seed),
      least_cost_(std::max(problem_.total_cost * 1e-6, 1e-9)) {}

double Repair::disturbance() {
  if (mode_.noise <= 0) return 1;
  return (1 + mode_.noise * random_.unit()) / (1 + mode_.noise * random_.unit());
}

bool Repair::run(const RepairMode& mode) {
  mode_ = mode;
  desperate_steps_ = 0;
  const int64_t first_flip = state_.flips();
  const int limit = 20 * problem_.step_count;
  for (int i = 0; !state_.fits(); ++i)
    if (i >= limit || state_.extra_cost() >= mode_.cost_limit || state_.flips() - first_flip > mode_.flip_limit ||
        !step())
      return false;
  return true;
}

bool Repair::finish(double cost_limit) {
  mode_ = {};
  sums_.update(state_, false);
  stage_ = sums_.worst_stage();
  if (stage_ < 0) return true;
  find_gaps(state_, stage_, gaps_);
  const double above = state_.stage_bytes(stage_) - state_.budget_bytes();
  const auto cost_of = [&](const Gap& gap) { return problem_.cost[problem_.maker[gap.value]]; };
  std::erase_if(gaps_, [&](const Gap& gap) {
    return gap.end >= kNever || problem_.bytes[gap.value] < above || cost_of(gap) >= cost_limit;
  });
  std::sort(gaps_.begin(), gaps_.end(), [&](const Gap& a, const Gap& b) {
    return cost_of(a) != cost_of(b) ? cost_of(a) < cost_of(b) : a.value < b.value;
  });
  best_.flips.clear();
  for (const Gap& gap : gaps_)
    if (cost_of(gap) < cost_limit) cost_limit = finish_with(gap, cost_limit);
  for (Run run : best_.flips) state_.flip(run);
  state_.settle();
  return !best_.flips.empty();
}

// The cost of the cheapest finishing move so far.
double Repair::finish_with(const Gap& gap, double cost_limit) {
  const int32_t step = problem_.maker[gap.value];
  collect_stages(gap);
  for (int32_t stage : stages_) {
    if (state_.runs_at(step, stage) || !problem_.may_repeat(step, stage)) continue;
    for (const InputRule rule : {InputRule::keep, InputRule::recompute}) {
      flips_ = builder_.build(step, stage, rule, 0, kMaxRunsOfFinish);
      if (rule == InputRule::recompute && flips_.size() == 1) continue;
      double cost = 0;
      for (Run run : flips_) cost += problem_.cost[run.step];
      if (cost >= cost_limit) continue;
      const size_t mark = state_.mark();
      for (Run run : flips_) state_.flip(run);
      state_.settle();
      if (state_.fits()) {
        cost_limit = cost;
        best_.flips = flips_;
      }
      state_.undo_to(mark);
    }
  }
  return cost_limit;
}

bool Repair::step() {
  sums_.update(state_, !mode_.gain_at_worst_stage);
  int32_t stage = sums_.worst_stage();
  if (stage < 0) return false;
  if (mode_.noise > 0 && random_.unit() < 0.5)
    stage = sums_.stages_above()[random_.below(static_cast<int64_t>(sums_.stages_above().size()))];
  desperate_ = wide_ = false;
  max_runs_ = kMaxRuns;
  if (improve_at(stage)) return true;
  wide_ = true;
  if (improve_at(stage)) return true;
  wide_ = false;
  if (!mode_.thorough) return false;
  std::vector<int32_t> others = sums_.stages_above();
  std::sort(others.begin(), others.end(), [&](int32_t a, int32_t b) {
    return state_.stage_bytes(a) != state_.stage_bytes(b) ? state_.stage_bytes(a) > state_.stage_bytes(b) : a < b;
  });
  if (others.size() > kOtherStages) others.resize(kOtherStages);
  for (int32_t other : others)
    if (other != stage && improve_at(other)) return true;
  if (++desperate_steps_ > 6 * problem_.step_count) return false;
  desperate_ = true;
  max_runs_ = kMaxRunsDesperate;
  if (improve_at(stage)) return true;
  return std::any_of(others.begin(), others.end(), [&](int32_t other) { return other != stage && improve_at(other); });
}

double Repair::rough_bound(const Gap& gap) const {
  const double bytes = problem_.bytes[gap.value];
  const double cost = problem_.cost[problem_.maker[gap.value]] + least_cost_;
  if (mode_.gain_at_worst_stage) return std::min(bytes, state_.stage_bytes(stage_) - state_.budget_bytes()) / cost;
  const int32_t begin = gap.begin == stage_ ? gap.begin : gap.begin + 1;
  const int32_t end = gap.end == stage_ ? gap.end + 1 : gap.end;
  return std::min(bytes * std::max(sums_.stages(begin, end), 1), sums_.bytes(begin, end)) / cost;
}

void Repair::collect_candidates() {
  find_gaps(state_, stage_, gaps_);
  candidates_.clear();
  for (const Gap& gap : gaps_) {
    if (gap.end >= kNever) continue;
    if (!problem_.may_repeat(problem_.maker[gap.value], std::max(gap.begin, problem_.maker[gap.value]))) continue;
    candidates_.push_back({gap, rough_bound(gap) * disturbance()});
  }
  std::make_heap(candidates_.begin(), candidates_.end(), lower_bound_first);
}

// What is missing of the inputs costs its step or its bytes: still an optimistic ratio, but a much better one.
void Repair::refine(Candidate& candidate) {
  const Gap& gap = candidate.gap;
  const double bytes = problem_.bytes[gap.value];
  const int32_t begin = gap.begin == stage_ ? gap.begin : gap.begin + 1;
  const int32_t end = gap.end == stage_ ? gap.end + 1 : gap.end;
  double gain = 0;
  if (mode_.gain_at_worst_stage) {
    gain = std::min(bytes, state_.stage_bytes(stage_) - state_.budget_bytes());
  } else if (end - begin < 400) {
    const double* stage_bytes = state_.stage_bytes().data();
    for (int32_t t = begin; t < end; ++t)
      gain += std::min(bytes, std::max(0.0, stage_bytes[t] - state_.budget_bytes()));
  } else {
    gain = std::min(bytes * sums_.stages(begin, end), sums_.bytes(begin, end));
  }
  const int32_t step = problem_.maker[gap.value];
  double cost_again = problem_.cost[step];
  double lost_by_keeping = 0;
  for (int32_t v : problem_.inputs[step]) {
    const int32_t until = builder_.available_until(v, gap.end);
    if (until >= gap.end) continue;
    // A later run of the input's step may slide here for nothing.
    if (state_.next_run(problem_.maker[v], gap.end) >= kNever) cost_again += problem_.cost[problem_.maker[v]];
    lost_by_keeping += mode_.gain_at_worst_stage
                           ? (until < stage_ ? problem_.bytes[v] : 0)
                           : problem_.bytes[v] * sums_.stages(std::max(until + 1, begin), gap.end);
  }
  const double ratio =
      std::max(gain / (cost_again + least_cost_), (gain - lost_by_keeping) / (problem_.cost[step] + least_cost_));
  candidate.bound = std::min(candidate.bound, ratio * disturbance());
  candidate.gain_bound = gain;
  candidate.refined = true;
}

bool Repair::improve_at(int32_t stage) {
  stage_ = stage;
  if (state_.stage_bytes(stage) <= state_.budget_bytes()) return false;
  collect_candidates();
  best_ = {};
  others_.clear();
  candidate_number_ = 0;
  const bool several = mode_.several_at_once && mode_.noise <= 0;
  const int enough = mode_.thorough || mode_.noise <= 0 ? kMeasuredCandidates * (desperate_ ? 4
                                                                                 : several  ? 2
                                                                                            : 1)
                                                        : kMeasuredWithNoise;
  while (!candidates_.empty()) {
    std::pop_heap(candidates_.begin(), candidates_.end(), lower_bound_first);
    Candidate& candidate = candidates_.back();
    if (!desperate_ && candidate.bound < best_.score * tolerance()) break;
    if (candidate_number_ >= enough && (best_.score > 0 || (!wide_ && candidate_number_ >= 6 * enough))) break;
    if (!candidate.refined) {
      refine(candidate);
      std::push_heap(candidates_.begin(), candidates_.end(), lower_bound_first);
      continue;
    }
    const Candidate taken = candidate;
    candidates_.pop_back();
    ++candidate_number_;
    try_candidate(taken);
  }
  if (best_.flips.empty()) return false;
  if (!desperate_) price_ = best_price_;
  for (Run run : best_.flips) state_.flip(run);
  state_.settle();
  if (several && !desperate_) apply_others();
  return true;
}

void Repair::collect_stages(const Gap& gap) {
  const int32_t step = problem_.maker[gap.value];
  stages_ = {gap.end};
  for (int32_t v : problem_.inputs[step]) {
    const int32_t until = builder_.available_until(v, gap.end);
    if (until < gap.end && until > stage_ && until > step && !state_.runs_at(step, until)) stages_.push_back(until);
  }
  std::sort(stages_.begin() + 1, stages_.end(), std::greater<>());
  stages_.erase(std::unique(stages_.begin() + 1, stages_.end()), stages_.end());
  const auto most = static_cast<size_t>(mode_.earlier_stages) + 1;
  if (wide_ || stages_.size() <= most) return;
  stages_[most - 1] = stages_.back();  // the earliest is worth a try
  stages_.resize(most);
}

void Repair::try_candidate(const Candidate& candidate) {
  collect_stages(candidate.gap);
  if (mode_.noise > 0 && !mode_.thorough) {
    try_one_way(candidate);
    return;
  }
  for (size_t i = 0; i < stages_.size(); ++i) try_stage(candidate, stages_[i]);
}

void Repair::try_stage(const Candidate& candidate, int32_t stage) {
  const int32_t step = problem_.maker[candidate.gap.value];
  if (state_.runs_at(step, stage) || !problem_.may_repeat(step, stage)) return;
  measure(builder_.build(step, stage, InputRule::keep, 0, 1), candidate.gain_bound);
  if (!builder_.misses_input(step, stage)) return;
  const size_t runs = builder_.build(step, stage, InputRule::cheaper, price_of_excess(), max_runs_).size();
  if (runs > 1)
    measure(builder_.build(step, stage, InputRule::cheaper, price_of_excess(), max_runs_), candidate.gain_bound);
  const std::vector<Run>& all = builder_.build(step, stage, InputRule::recompute, 0, max_runs_);
  if (all.size() > 1 && all.size() != runs) measure(all, candidate.gain_bound);
}

void Repair::try_one_way(const Candidate& candidate) {
  const bool earlier = stages_.size() > 1 && random_.unit() < kEarlierShare;
  const int32_t stage = stages_[earlier ? 1 + random_.below(static_cast<int64_t>(stages_.size()) - 1) : 0];
  const int32_t step = problem_.maker[candidate.gap.value];
  if (state_.runs_at(step, stage) || !problem_.may_repeat(step, stage)) return;
  InputRule rule = InputRule::keep;
  if (builder_.misses_input(step, stage)) {
    const double drawn = random_.unit();
    if (drawn >= kKeepShare) rule = drawn < kKeepShare + kCheaperShare ? InputRule::cheaper : InputRule::recompute;
  }
  measure(builder_.build(step, stage, rule, price_of_excess(), max_runs_), candidate.gain_bound);
}

double Repair::price_of_excess() const {
  return best_.score > 0 && !desperate_ ? best_price_ : price_ > 0 ? price_ : 1;
}

bool Repair::worth_measuring(const std::vector<Run>& runs, double gain_bound) const {
  if (desperate_) return true;
  double cost = least_cost_;
  for (Run run : runs) cost += problem_.cost[run.step];
  const double slide_allowance = runs.size() > 1 ? 4 : 1;
  return gain_bound * slide_allowance / cost >= best_.score * tolerance();
}

// A later run of a chain's member may now be needless, see Note [Greedy moves].
void Repair::slide() {
  const size_t chain = flips_.size();
  const double price = best_.score > 0 && !desperate_ ? best_price_ : price_;
  for (size_t i = 1; i < chain; ++i) {
    const Run run = flips_[i];
    const int32_t later = state_.next_run(run.step, run.stage);
    if (later >= kNever) continue;
    const double before = state_.excess();
    const size_t mark = state_.mark();
    state_.flip_and_settle({later, run.step});
    if (state_.excess() - before <= price * problem_.cost[run.step] * 0.999)
      flips_.push_back({later, run.step});
    else
      state_.undo_to(mark);
  }
}

void Repair::measure(const std::vector<Run>& runs, double gain_bound) {
  if (!worth_measuring(runs, gain_bound)) return;
  const size_t mark = state_.mark();
  const double excess = state_.excess();
  const double cost = state_.extra_cost();
  const double stage_bytes = state_.stage_bytes(stage_);
  flips_ = runs;
  for (Run run : flips_) state_.flip(run);
  state_.settle();
  if (flips_.size() > 1) slide();
  const double excess_drop = excess - state_.excess();
  const double bytes_drop = stage_bytes - state_.stage_bytes(stage_);
  const double extra = std::max(state_.extra_cost() - cost, 0.0);
  state_.undo_to(mark);
  keep_score(excess_drop, bytes_drop, extra);
}

void Repair::keep_score(double excess_drop, double bytes_drop, double cost) {
  const double above = std::max(1.0, state_.stage_bytes(stage_) - state_.budget_bytes());
  double score = 0;
  if (desperate_) {
    if (bytes_drop <= 0) return;
    score = std::min(bytes_drop, above) / ((cost + least_cost_ * 100) * (1 + std::max(0.0, -excess_drop) / above));
  } else {
    if (excess_drop <= 0) return;
    score = excess_drop / (cost + least_cost_);
    if (mode_.gain_at_worst_stage) {
      if (bytes_drop <= 0) return;
      score = std::min(bytes_drop, above) / (cost + least_cost_);
    }
  }
  score *= disturbance();
  if (mode_.several_at_once && mode_.noise <= 0 && !desperate_) others_.push_back({flips_, score, candidate_number_});
  if (score <= best_.score) return;
  best_ = {flips_, score, candidate_number_};
  best_price_ = excess_drop / (cost + least_cost_);
}

void Repair::apply_others() {
  std::stable_sort(others_.begin(), others_.end(), [](const Move& a, const Move& b) { return a.score > b.score; });
  std::vector<int> done = {best_.candidate};
  for (const Move& move : others_) {
    const double above = state_.stage_bytes(stage_) - state_.budget_bytes();
    if (move.score < kOthersShare * best_.score || above <= 0) return;
    if (std::find(done.begin(), done.end(), move.candidate) != done.end()) continue;
    const Run first = move.flips.front();
    if (state_.runs_at(first.step, first.stage)) continue;
    const size_t mark = state_.mark();
    const double excess = state_.excess();
    const double extra = state_.extra_cost();
    for (Run run : move.flips) state_.flip(run);
    state_.settle();
    const double cost = std::max(0.0, state_.extra_cost() - extra) + least_cost_;
    const double drop = excess - state_.excess();
    const double at_stage = std::min(above + state_.budget_bytes() - state_.stage_bytes(stage_), above);
    const double score = (mode_.gain_at_worst_stage ? at_stage : drop) / cost;
    if (drop <= 0 || score < kOthersShare * move.score)
      state_.undo_to(mark);
    else
      done.push_back(move.candidate);
  }
}

}  // namespace tidemark::memory::recompute
