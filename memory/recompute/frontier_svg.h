// A picture of the curve of budget against overhead.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "memory/recompute/frontier.h"

namespace tidemark::memory {

// Writes an SVG that needs nothing else: budgets (as shares of plain_peak_bytes and in bytes) to the right, overhead in
// percent upwards, the plans as a step line (a plan serves larger budgets, too), their lower bounds as a second one (a
// bound holds for smaller budgets, too), budgets out of reach shaded. Each point has a tooltip with its figures.
void write_frontier_svg(const std::string& title, int64_t plain_peak_bytes, const std::vector<FrontierPoint>& points,
                        std::ostream& out);

}  // namespace tidemark::memory
