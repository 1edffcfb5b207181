#include "framework/cli/lists.h"

#include "framework/optim/optimizer.h"
#include "memory/arena/offset_planner.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::cli {

config::Lists all_lists() {
  config::Lists lists{models::all_models(), data::all_data_kinds(), {}, {}, optim::optimizer_names()};
  for (const auto& planner : memory::all_offset_planners()) lists.planners.emplace_back(planner->name());
  for (const auto& planner : memory::all_recompute_planners()) lists.recompute_planners.emplace_back(planner->name());
  return lists;
}

}  // namespace tidemark::cli
