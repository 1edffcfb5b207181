#include "memory/recompute/segment_planner.h"

#include <algorithm>
#include <cmath>

#include "memory/recompute/search/plan_state.h"

namespace tidemark::memory {
namespace {

using recompute::kNever;
using recompute::PlanState;
using recompute::Problem;
using recompute::Run;

// What segments of so many steps (before the turn) recompute.
class Segmentation {
 public:
  Segmentation(const Problem& problem, int32_t turn, int32_t length)
      : problem_(problem), turn_(turn), length_(length) {}

  std::vector<Run> runs() const {
    std::vector<Run> out;
    for (int32_t begin = 1; begin <= turn_; begin += length_)
      add_segment(begin, std::min(begin + length_, turn_ + 1), out);
    return out;
  }

 private:
  // First step after the turn that reads a value; kNever if none.
  int32_t first_late_reader(int32_t value) const {
    for (int32_t reader : problem_.readers[value])
      if (reader > turn_) return reader;
    return kNever;
  }

  // Dropped: made in the segment, read after the turn, and by no other segment before it.
  bool is_dropped(int32_t value, int32_t end) const {
    const auto readers = problem_.readers[value];
    return first_late_reader(value) < kNever &&
           std::none_of(readers.begin(), readers.end(), [&](int32_t r) { return r >= end && r <= turn_; });
  }

  void add_segment(int32_t begin, int32_t end, std::vector<Run>& out) const {
    int32_t stage = kNever;
    for (int32_t s = begin; s < end; ++s)
      for (int32_t v : problem_.outputs[s])
        if (is_dropped(v, end) && problem_.may_repeat(s, first_late_reader(v)))
          stage = std::min(stage, first_late_reader(v));
    if (stage == kNever) return;
    // Backwards: a step runs again if something dropped needs it, itself or a later step of the segment.
    std::vector<bool> wanted(end - begin, false);
    for (int32_t s = end - 1; s >= begin; --s) {
      for (int32_t v : problem_.outputs[s])
        if (is_dropped(v, end)) wanted[s - begin] = true;
      if (!wanted[s - begin] || !problem_.may_repeat(s, stage)) continue;
      out.push_back({stage, s});
      for (int32_t v : problem_.inputs[s])
        if (problem_.maker[v] >= begin && !is_boundary(v, end)) wanted[problem_.maker[v] - begin] = true;
    }
  }

  bool is_boundary(int32_t value, int32_t end) const {
    const auto readers = problem_.readers[value];
    return std::any_of(readers.begin(), readers.end(), [&](int32_t r) { return r >= end && r <= turn_; }) &&
           first_late_reader(value) < kNever;
  }

  const Problem& problem_;
  const int32_t turn_;
  const int32_t length_;
};

}  // namespace

RecomputePlan SegmentPlanner::best_effort(const StepTrace& trace, int64_t budget_bytes, const RecomputeOptions&) const {
  const Problem problem(trace);
  const auto budget = static_cast<double>(budget_bytes);
  PlanState state(problem, budget);
  const std::vector<double>& bytes = state.stage_bytes();
  const auto turn = static_cast<int32_t>(std::max_element(bytes.begin(), bytes.end()) - bytes.begin());
  const auto peak = [&] { return *std::max_element(bytes.begin(), bytes.end()); };
  std::vector<int32_t> best = state.sequence();
  double best_cost = state.fits() ? 0 : -1;  // -1: does not fit
  double best_peak = peak();
  const auto most = static_cast<int32_t>(2 * std::sqrt(static_cast<double>(turn))) + 1;
  for (int32_t segments = 1; segments <= most && turn > 1; ++segments) {
    state.assign(Segmentation(problem, turn, std::max(1, (turn + segments - 1) / segments)).runs());
    const bool better =
        state.fits() ? best_cost < 0 || state.extra_cost() < best_cost : best_cost < 0 && peak() < best_peak;
    if (!better) continue;
    best = state.sequence();
    best_cost = state.fits() ? state.extra_cost() : -1;
    best_peak = peak();
  }
  return make_plan(trace, std::move(best), "segment_sqrt", state.flips());
}

}  // namespace tidemark::memory
