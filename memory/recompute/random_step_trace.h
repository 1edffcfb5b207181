// Random step traces for tests: valid by construction, the same for the same seed on every machine.
#pragma once

#include <cstdint>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory {

struct RandomStepTraceOptions {
  uint64_t seed = 1;
  int steps = 20;
  int64_t max_bytes = 100;
  int64_t max_cost = 50;
  // Training shape: the second half reads back what the first half made, last first.
  bool mirrored = true;
  // Shares of steps or values with the feature, in percent.
  int no_repeat_percent = 0;
  int workspace_percent = 0;
  int second_output_percent = 0;
  int takes_over_percent = 0;
  int overwrites_percent = 0;
  int persistent_percent = 0;
  int external_percent = 0;  // steps that read a value that is there before
  int result_percent = 0;    // values live at the end
};

StepTrace random_step_trace(const RandomStepTraceOptions& options);

}  // namespace tidemark::memory
