// metrics.listen of commands that train.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "monitoring/exporter.h"

namespace tidemark::cli {

// Before a plan is made, which may take minutes. Nothing for an empty address. Throws as serve_metrics.
void refuse_taken_address(const std::string& listen);

// Serves `counters`, which must outlive the result, at `listen` (HOST:PORT) and logs the URL; nullptr for an empty
// address. `refresh`: see monitoring::Exporter. Throws Error(config) for another form or an unknown host, Error(io) if
// the address cannot be bound, both with the reason and with overrides that work.
std::unique_ptr<monitoring::Exporter> serve_metrics(Counters& counters, const std::string& listen,
                                                    std::function<void()> refresh);

}  // namespace tidemark::cli
