#include "memory/arena/hot_core.h"

#include <algorithm>

#include "memory/arena/exact_packer.h"
#include "memory/arena/greedy_placement.h"
#include "memory/arena/greedy_planner.h"

// Note [Hot core]
// In a large trace only a few sections are nearly as full as the fullest. The buffers that are live in one of those,
// the hot core, decide the peak; all others have room to spare. So:
//   1. the exact search packs the core alone into the target;
//   2. the core falls: in the order of its offsets each buffer goes to the lowest free place. None ends higher than the
//      search had put it, since all that was below it is still below it;
//   3. first fit adds the rest in a greedy order.
// If the rest does not fit, the next attempt takes a larger one (a lower
// threshold of what is hot); if no core leads to a plan, the target grows.
// Limits: the core must stay small enough for the search (kLargestCore); the plan is not proven unless its peak is the
// lower bound.

namespace tidemark::memory {
namespace {

// Where the core is small, packing it is cheap, and the larger it is the surer the rest fits. Else the smallest comes
// first.
constexpr size_t kSmallCore = 1000;
constexpr double kSharesIfSmall[] = {0.97, 0.985, 0.94, 0.995, 0.9, 0.8};
constexpr double kSharesIfLarge[] = {0.995, 0.985, 0.97, 0.94, 0.9, 0.8};
constexpr size_t kLargestCore = 4000;
constexpr double kFirstExcess = 0.0002;
constexpr double kLargestExcess = 1;  // twice the target: what does not fit there is for the other planners
constexpr int64_t kFirstSlice = 400'000;

class CorePlanner {
 public:
  CorePlanner(const SectionedTrace& trace, const Component& component, int64_t target_bytes, uint64_t seed,
              int64_t work_limit)
      : trace_(trace), component_(component), target_bytes_(target_bytes), seed_(seed), work_limit_(work_limit) {}

  CorePlan run() {
    const bool small = buffers_live_above(kSharesIfSmall[0] * static_cast<double>(target_bytes_)).size() <= kSmallCore;
    double excess = 0;
    for (int64_t slice = kFirstSlice; best_.work < work_limit_ && excess < kLargestExcess; slice *= 2) {
      const int64_t work_before = best_.work;
      for (double share : small ? kSharesIfSmall : kSharesIfLarge) {
        if (best_.work >= work_limit_) break;
        attempt(share, target_bytes_ + static_cast<int64_t>(excess * static_cast<double>(target_bytes_)), slice);
        if (!best_.offsets.empty() && best_.peak_bytes <= target_bytes_) return std::move(best_);
      }
      if (best_.work == work_before) break;  // no share gives a core that the search can take
      excess = excess == 0 ? kFirstExcess : 2 * excess;
    }
    return std::move(best_);
  }

 private:
  std::vector<int32_t> buffers_live_above(double threshold_bytes) const {
    std::vector<int32_t> hot_before(trace_.section_count + 1, 0);
    for (int32_t s = 0; s < trace_.section_count; ++s) {
      const bool hot = static_cast<double>(trace_.load_bytes[s]) >= threshold_bytes;
      hot_before[s + 1] = hot_before[s] + (hot ? 1 : 0);
    }
    std::vector<int32_t> result;
    for (int32_t i : component_.buffers) {
      bool hot = false;
      for (const SectionSpan& span : trace_.spans_of(trace_.buffers[i])) {
        hot |= hot_before[span.end] > hot_before[span.begin];
      }
      if (hot) result.push_back(i);
    }
    return result;
  }

  void attempt(double share, int64_t core_bytes, int64_t slice) {
    std::vector<int32_t> core = buffers_live_above(share * static_cast<double>(target_bytes_));
    if (core.empty() || core.size() > kLargestCore) return;
    ExactPacker packer(trace_, std::move(core), core_bytes);
    const int64_t allowed = std::min(slice, work_limit_ - best_.work);
    // What rounding to units adds goes again when the core falls.
    const int64_t capacity = std::max(core_bytes, packer.least_capacity());
    const ExactPacker::Result packed = packer.pack(capacity, {}, seed_, allowed);
    best_.work += packed.work + static_cast<int64_t>(packer.buffers().size());
    if (packed.verdict != SearchVerdict::found) return;

    GreedyPlacement placement(trace_);
    placement.place_all(fall_order(packer.buffers(), packed.offsets), FitRule::first);
    for (int32_t i : greedy_order(trace_, GreedyOrder::size)) {
      if (is_member(i) && placement.offsets()[i] < 0) placement.place(i, FitRule::first);
    }
    best_.work += kGreedyWork * static_cast<int64_t>(component_.buffers.size());
    if (!best_.offsets.empty() && placement.peak_bytes() >= best_.peak_bytes) return;
    best_.offsets = placement.offsets();
    best_.peak_bytes = placement.peak_bytes();
  }

  bool is_member(int32_t buffer) const {
    const SectionSpan hull = trace_.hull_of(trace_.buffers[buffer]);
    return hull.begin >= component_.sections.begin && hull.end <= component_.sections.end;
  }

  static std::vector<int32_t> fall_order(const std::vector<int32_t>& buffers, const std::vector<int64_t>& offsets) {
    std::vector<std::pair<int64_t, int32_t>> order;
    for (size_t i = 0; i < buffers.size(); ++i) order.emplace_back(offsets[i], buffers[i]);
    std::sort(order.begin(), order.end());
    std::vector<int32_t> result;
    for (const auto& [offset, buffer] : order) result.push_back(buffer);
    return result;
  }

  const SectionedTrace& trace_;
  const Component& component_;
  const int64_t target_bytes_;
  const uint64_t seed_;
  const int64_t work_limit_;
  CorePlan best_;
};

}  // namespace

CorePlan plan_around_core(const SectionedTrace& trace, const Component& component, int64_t target_bytes, uint64_t seed,
                          int64_t work_limit) {
  return CorePlanner(trace, component, target_bytes, seed, work_limit).run();
}

}  // namespace tidemark::memory
