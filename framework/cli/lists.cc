#include "framework/cli/lists.h"

#include "memory/arena/offset_planner.h"

namespace tidemark::cli {

config::Lists all_lists() {
  config::Lists lists{models::all_models(), data::all_data_kinds(), {}};
  for (const auto& planner : memory::all_offset_planners()) lists.planners.emplace_back(planner->name());
  return lists;
}

}  // namespace tidemark::cli
