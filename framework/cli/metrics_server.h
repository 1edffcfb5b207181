// metrics.listen of commands that train.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "monitoring/exporter.h"

namespace tidemark::cli {

// Before a plan is made, which may take minutes. Throws as serve_metrics.
void refuse_taken_address(const std::string& listen);

// Serves at `listen` and logs the URL; nullptr for an empty one. Throws Error with the reason, the key and overrides
// that work.
std::unique_ptr<monitoring::Exporter> serve_metrics(Counters& counters, const std::string& listen,
                                                    std::function<void()> refresh);

}  // namespace tidemark::cli
