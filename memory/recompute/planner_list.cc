// In order of preference. A new planner is one line here; the conformance suite runs over this list.
#include "base/error.h"
#include "memory/recompute/chain_planner.h"
#include "memory/recompute/dtr_planner.h"
#include "memory/recompute/none_planner.h"
#include "memory/recompute/recompute_planner.h"
#include "memory/recompute/search_planner.h"
#include "memory/recompute/segment_planner.h"

namespace tidemark::memory {

std::vector<std::unique_ptr<RecomputePlanner>> all_recompute_planners() {
  std::vector<std::unique_ptr<RecomputePlanner>> list;
  list.push_back(std::make_unique<SearchPlanner>());
  list.push_back(std::make_unique<ChainPlanner>());
  list.push_back(std::make_unique<DtrPlanner>());
  list.push_back(std::make_unique<SegmentPlanner>());
  list.push_back(std::make_unique<NonePlanner>());
  return list;
}

std::unique_ptr<RecomputePlanner> make_recompute_planner(std::string_view name) {
  std::string known;
  for (std::unique_ptr<RecomputePlanner>& planner : all_recompute_planners()) {
    if (planner->name() == name) return std::move(planner);
    known += (known.empty() ? "" : ", ") + std::string(planner->name());
  }
  throw Error(ErrorCode::config, "no recompute planner '" + std::string(name) + "'; known are " + known);
}

}  // namespace tidemark::memory
