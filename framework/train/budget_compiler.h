// The graphs of a run, compiled for its budget, with the micro-batch that suits it.
#pragma once

#include "framework/train/planned_run.h"

namespace tidemark::train {

// Fills what `run` has of CompiledRun, micro_batches and batch.micro_batch, from the rest of it: Note [Choice of the
// micro-batch]. Throws compile::BudgetRefusal with the least budget of all that were looked at where none has a plan.
// What `run` has of these after any error has no meaning.
void compile_for_budget(PlannedRun& run, const config::Config& config, const DeviceMemory& device,
                        const PlanOptions& options);

}  // namespace tidemark::train
