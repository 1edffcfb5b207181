// What a budget that no schedule was found for is told.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "framework/compile/program.h"

namespace tidemark::compile {

inline constexpr std::string_view kDefaultPlanner = "search";  // what memory.recompute: auto stands for

struct RefusedBudget {
  std::string program;  // name of the model
  std::string planner;  // of recomputation; a refusal by another than the default advises that
  int64_t budget_bytes = 0;
  int64_t least_bytes = 0;              // that works with this planner
  int64_t least_conceivable_bytes = 0;  // that no schedule gets below
};

// One line: what `plain`, the body without recomputation, needs, what would work, what to do. `peak`: the instruction
// that sets the least budget, nullptr if there is none.
std::string refusal_text(const RefusedBudget& refused, const Body& plain, const Instruction* peak);

}  // namespace tidemark::compile
