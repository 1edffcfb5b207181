#include "memory/recompute/chain_planner.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "memory/recompute/chain_dp.h"
#include "memory/recompute/search/improve.h"
#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory {
namespace {

using recompute::kNever;
using recompute::PlanState;
using recompute::Problem;
using recompute::Run;

constexpr int32_t kMaxBlocks = 48;
constexpr int32_t kSlots = 160;

// The forward part of a problem as a chain.
class Chain {
 public:
  Chain(const Problem& problem, int32_t turn) : problem_(problem), turn_(turn) {
    find_cuts();
    for (size_t j = 0; j + 1 < cuts_.size(); ++j) late_stage_.push_back(late_stage(cuts_[j] + 1, cuts_[j + 1]));
  }

  std::vector<ChainBlock> blocks(double bytes_per_slot) const {
    std::vector<ChainBlock> blocks;
    for (size_t j = 0; j + 1 < cuts_.size(); ++j) {
      ChainBlock block;
      double saved = 0;
      double input = 0;
      for (int32_t s = cuts_[j] + 1; s <= cuts_[j + 1]; ++s) {
        block.cost += problem_.cost[s];
        for (int32_t v : problem_.outputs[s])
          if (first_late_reader(v) < kNever || last_early_reader(v) > cuts_[j + 1]) saved += problem_.bytes[v];
        for (int32_t v : problem_.inputs[s])
          if (problem_.maker[v] > 0 && problem_.maker[v] <= cuts_[j]) input = std::max(input, problem_.bytes[v]);
      }
      block.saved = static_cast<int32_t>(std::ceil(saved / bytes_per_slot));
      block.input = static_cast<int32_t>(std::ceil(input / bytes_per_slot));
      blocks.push_back(block);
    }
    return blocks;
  }

  std::vector<Run> runs(const std::vector<ChainRun>& chain_runs) const {
    std::vector<Run> out;
    for (const ChainRun& run : chain_runs) {
      const int32_t stage = late_stage_[run.time - 1];
      if (stage >= kNever) continue;
      for (int32_t s = cuts_[run.first] + 1; s <= cuts_[run.last + 1]; ++s)
        if (problem_.may_repeat(s, stage)) out.push_back({stage, s});
    }
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  int32_t first_late_reader(int32_t value) const {
    for (int32_t reader : problem_.readers[value])
      if (reader > turn_) return reader;
    return kNever;
  }

  int32_t last_early_reader(int32_t value) const {
    int32_t last = problem_.maker[value];
    for (int32_t reader : problem_.readers[value])
      if (reader <= turn_) last = std::max(last, reader);
    return last;
  }

  int32_t late_stage(int32_t begin, int32_t end) const {
    int32_t stage = kNever;
    for (int32_t s = begin; s <= end; ++s)
      for (int32_t v : problem_.outputs[s]) stage = std::min(stage, first_late_reader(v));
    return stage;
  }

  // Block j is steps cuts_[j] + 1 to cuts_[j + 1].
  void find_cuts() {
    std::vector<int32_t> crossing(turn_ + 2, 0);  // values over the cut behind each step
    for (int32_t v = 0; v < problem_.value_count(); ++v) {
      if (problem_.maker[v] == 0 || problem_.maker[v] > turn_) continue;
      ++crossing[problem_.maker[v]];
      --crossing[last_early_reader(v)];
    }
    double bytes = 0;  // saved since the last cut
    double all_bytes = 0;
    for (int32_t v = 0; v < problem_.value_count(); ++v)
      if (problem_.maker[v] <= turn_ && first_late_reader(v) < kNever) all_bytes += problem_.bytes[v];
    cuts_ = {0};
    int32_t across = 0;
    for (int32_t s = 1; s < turn_; ++s) {
      across += crossing[s];
      for (int32_t v : problem_.outputs[s])
        if (first_late_reader(v) < kNever) bytes += problem_.bytes[v];
      if (across > 1 || bytes < all_bytes / kMaxBlocks) continue;
      cuts_.push_back(s);
      bytes = 0;
    }
    if (turn_ > 0) cuts_.push_back(turn_);
  }

  const Problem& problem_;
  const int32_t turn_;
  std::vector<int32_t> cuts_;
  std::vector<int32_t> late_stage_;  // by block: when its backward part begins
};

}  // namespace

RecomputePlan ChainPlanner::best_effort(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions&) const {
  const Problem problem(trace);
  PlanState state(problem, static_cast<double>(budget_bytes));
  const std::vector<double>& bytes = state.stage_bytes();
  const auto turn = static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  const auto peak = [&] { return *std::max_element(bytes.begin(), bytes.end()); };
  std::vector<int32_t> best = state.sequence();
  if (state.fits()) return make_plan(trace, std::move(best), "chain", 0);
  double best_peak = peak();
  double best_cost = -1;  // nothing fits yet
  const Chain chain(problem, turn);
  const ChainDp dp(chain.blocks(std::max(1.0, static_cast<double>(budget_bytes)) / kSlots), kSlots);
  // More slots are cheaper; the first that really fits is the best, or nearly.
  for (int32_t slots = kSlots; slots > 0 && best_cost < 0; slots -= 1 + (kSlots - slots) / 8) {
    if (dp.extra_cost(slots) == std::numeric_limits<double>::infinity()) break;
    state.assign(chain.runs(dp.runs(slots)));
    if (!state.fits() && peak() >= best_peak) continue;
    if (state.fits()) {
      recompute::prune(state);
      best_cost = state.extra_cost();
    }
    best = state.sequence();
    best_peak = peak();
  }
  return make_plan(trace, std::move(best), "chain", state.flips());
}

}  // namespace tidemark::memory
