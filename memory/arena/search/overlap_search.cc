#include "memory/arena/search/overlap_search.h"

#include <algorithm>
#include <limits>
#include <memory>

#include "memory/arena/search/overlap_run.h"

// Note [Overlap search]
// The problem: an instance so tight that the exact search does not get near the bound, though a packing exists.
//
// The idea (guided local search; Faroe, Pisinger and Zachariasen 2003, Egeblad and others 2007 for rectangles, here
// with times given). All items lie within the capacity, and the cost is the sum over the pairs that overlap of units of
// overlap x the pair's weight. A move takes one item to its best offset: the cost over the offset is a sum of
// trapezoids, one per neighbour, added up by their changes of slope in one sweep. Where no item can improve, every
// overlapping pair gets heavier in proportion to its overlap, and the search goes on from there. Weights only grow, so
// their steps matter less and less, as a falling temperature.
//
// A low capacity is no worse a guide than one that is easy to reach: its overlaps spread over time, and pushing the
// items upwards in the order of their offsets turns them into a packing that is only as much higher as the worst path
// of overlaps. Hence there is a result at any time.
//
// Most starts end in bad regions, and that shows early: of several the better half goes on, with twice the work each.
//
// Limits: no proofs; one sweep looks at every offset (kLargestOverlapCapacity); a table of all pairs
// (kLargestOverlapItems).

namespace tidemark::memory {
namespace {

constexpr size_t kStarts = 8;
constexpr int64_t kRounds = 4;  // 8, 4, 2 and 1 start

}  // namespace

OverlapResult search_overlaps(const Packing& packing, const std::vector<int32_t>& largest_offsets, uint64_t seed,
                              int64_t work_limit) {
  OverlapResult result;
  const OverlapGraph graph(packing, largest_offsets);
  const auto items = static_cast<int64_t>(packing.items.size());
  result.work = items + items * items / 64;
  std::vector<std::unique_ptr<OverlapRun>> runs;
  int32_t least_top = std::numeric_limits<int32_t>::max();
  for (size_t i = 0; i < kStarts; ++i) runs.push_back(std::make_unique<OverlapRun>(graph, seed * kStarts + i));
  for (; !runs.empty(); runs.resize(runs.size() / 2)) {
    const int64_t slice = work_limit / kRounds / static_cast<int64_t>(runs.size());
    for (const auto& run : runs) {
      const int64_t work_before = run->work();
      const bool done = run->advance(slice);
      result.work += run->work() - work_before;
      if (run->packed_top() < least_top) {
        least_top = run->packed_top();
        result.offsets = run->packed();
      }
      if (done) return result;
    }
    std::stable_sort(runs.begin(), runs.end(),
                     [](const auto& a, const auto& b) { return a->least_overlap() < b->least_overlap(); });
  }
  return result;
}

}  // namespace tidemark::memory
