// Which body the peak is told of, where several fill the budget to the same page.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/compile/program.h"
#include "framework/train/training_program.h"

namespace tidemark::train {

// How often each body runs in an epoch and the evaluation after it, by name. Not of packed data, whose shapes come with
// the batches: empty.
std::map<std::string, int64_t> body_runs(const BatchPlan& batch);

// The program's peak becomes that of the body that runs most often among those with the most pages; of equals that of
// the body with the most bytes. A small last batch is seldom what somebody wants to see.
void choose_peak_body(compile::Program& program, const BatchPlan& batch, int64_t page_bytes);

}  // namespace tidemark::train
