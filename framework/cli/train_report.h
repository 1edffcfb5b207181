// What `tidemark train` says when it is done.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/train/training_run.h"

namespace tidemark::cli {

// One object. `parameters_sha256`: Trainer::parameters_sha256 at the end.
nlohmann::ordered_json train_json(const train::PlannedRun& run, const train::RunReport& report,
                                  const std::string& parameters_sha256);

// The same in four lines for people.
void print_train(const train::PlannedRun& run, const train::RunReport& report, std::ostream& out);

}  // namespace tidemark::cli
