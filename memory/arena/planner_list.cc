// In order of preference. A new planner is one line here; the conformance suite runs over this list.
#include "base/error.h"
#include "memory/arena/greedy_planner.h"
#include "memory/arena/offset_planner.h"
#include "memory/arena/portfolio_planner.h"

namespace tidemark::memory {

std::vector<std::unique_ptr<OffsetPlanner>> all_offset_planners() {
  std::vector<std::unique_ptr<OffsetPlanner>> list;
  list.push_back(std::make_unique<PortfolioPlanner>());
  list.push_back(std::make_unique<GreedyPlanner>("size_first_fit", GreedyOrder::size, FitRule::first));
  list.push_back(std::make_unique<GreedyPlanner>("size_best_fit", GreedyOrder::size, FitRule::best));
  list.push_back(std::make_unique<GreedyPlanner>("area_first_fit", GreedyOrder::area, FitRule::first));
  list.push_back(std::make_unique<GreedyPlanner>("lifetime_first_fit", GreedyOrder::lifetime, FitRule::first));
  list.push_back(std::make_unique<GreedyPlanner>("contention_first_fit", GreedyOrder::contention, FitRule::first));
  list.push_back(std::make_unique<GreedyPlanner>("begin_first_fit", GreedyOrder::begin, FitRule::first));
  list.push_back(std::make_unique<GreedyPlanner>("begin_best_fit", GreedyOrder::begin, FitRule::best));
  return list;
}

std::unique_ptr<OffsetPlanner> make_offset_planner(std::string_view name) {
  std::string known;
  for (std::unique_ptr<OffsetPlanner>& planner : all_offset_planners()) {
    if (planner->name() == name) return std::move(planner);
    known += (known.empty() ? "" : ", ") + std::string(planner->name());
  }
  throw Error(ErrorCode::config, "no offset planner '" + std::string(name) + "'; known are " + known);
}

}  // namespace tidemark::memory
