// A picture of a plan: time to the right, offset upwards, one rectangle per lifetime interval, coloured by category.
#pragma once

#include <iosfwd>

#include "memory/arena/offset_planner.h"
#include "memory/trace/trace.h"

namespace tidemark::memory {

struct PlanSvgOptions {
  int width_pixels = 1200;
  int height_pixels = 700;
  // Rectangles smaller than this in both directions are left out: tens of thousands of them would be drawn unseen.
  double least_pixels = 0.35;
};

// Writes one SVG document with axes (steps; bytes in human units), a legend of the categories in use with their bytes
// at the peak's step, and lines at the peak and the lower bound. The plan must be valid for the trace.
void write_plan_svg(const Trace& trace, const OffsetPlan& plan, std::ostream& out, const PlanSvgOptions& options = {});

}  // namespace tidemark::memory
