// What `tidemark plan --explain` tells beyond the plan.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/train/planned_run.h"

namespace tidemark::cli {

// The body of that name, that with the peak for an empty one. Throws Error(config) that lists the bodies there are.
const compile::Body& find_body(const compile::Program& program, const std::string& name);

// The ten largest tensors at the peak of `body`, which kernel every op takes, and which instructions of each body run
// again, with what each costs.
void explain_plan(const train::PlannedRun& run, const compile::Body& body, std::ostream& out);

// The same as one object: body, peak_bytes, peak_node (null if nothing runs), tensors_at_peak[], recomputed[] and
// kernels[]. Of what runs again: seconds and share, the cost of the run and what it is of all first runs in its body;
// both are null where costs are not known.
nlohmann::ordered_json explanation_json(const train::PlannedRun& run, const compile::Body& body);

}  // namespace tidemark::cli
