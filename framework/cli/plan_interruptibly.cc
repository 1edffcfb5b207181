#include "framework/cli/plan_interruptibly.h"

#include <utility>

#include "framework/cli/measuring_line.h"
#include "framework/cli/stop_request.h"

namespace tidemark::cli {

train::PlannedRun plan_interruptibly(const config::LoadedConfig& config, const ops::OpSet& ops,
                                     const DeviceMemory& device, const memory::Budget& budget, std::string who) {
  MeasuringLine line;
  PlanningInterrupt interrupt(std::move(who));
  return train::plan_run(config, ops, device, budget,
                         {.on_measuring = interrupt.listener(line.listener()), .stop_measuring = interrupt.stop()});
}

}  // namespace tidemark::cli
