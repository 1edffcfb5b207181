// The plan of a command that goes on with it: costs that are measured show on standard error, and signals end it as
// PlanningInterrupt says.
#pragma once

#include <string>

#include "framework/train/planned_run.h"

namespace tidemark::cli {

// train::plan_run. `who` begins the line of an interruption: "tidemark train".
train::PlannedRun plan_interruptibly(const config::LoadedConfig& config, const ops::OpSet& ops,
                                     const DeviceMemory& device, const memory::Budget& budget, std::string who);

}  // namespace tidemark::cli
