// What `tidemark plan` prints.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/error.h"
#include "framework/train/plan_frontier.h"
#include "framework/train/planned_run.h"

namespace tidemark::cli {

// How many instructions run again in the body that PlannedRun::recompute_overhead is of.
int64_t recomputed_instructions(const train::PlannedRun& run);

// One object. predicted_step_seconds stands beside costs: "measured" or "estimated"; with estimates, `estimated` lists
// the figures that hang on them.
nlohmann::ordered_json plan_json(const train::PlannedRun& run, const std::string& device);

// Of `plan --measure-again`: how many figures were known before, how many of them changed, new by old ones.
nlohmann::ordered_json cost_change_json(const compile::CostChange& change);

// The object of a plan that does not exist: no schedule within the budget was found.
nlohmann::ordered_json refusal_json(const config::Config& config, const std::string& device, int64_t budget_bytes,
                                    const Error& why);

// The same for people: the line, what it is made of, the bodies.
void print_plan(const train::PlannedRun& run, const std::string& device, std::ostream& out);

// Why the curve of a plan is one point; empty if it has more.
std::string single_point_reason(const train::PlannedRun& run, const config::Config& config,
                                const std::vector<train::BudgetPoint>& points);

// The curve of budget against overhead; points that were not reached say so. `reason`: of a single point.
nlohmann::ordered_json frontier_json(const std::vector<train::BudgetPoint>& points);
void print_frontier(const std::vector<train::BudgetPoint>& points, const std::string& reason, bool estimated,
                    std::ostream& out);

// Bytes by category as an object; categories without bytes are left out.
nlohmann::ordered_json categories_json(const CategoryBytes& bytes);

}  // namespace tidemark::cli
