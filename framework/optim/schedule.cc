#include "framework/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace tidemark::optim {

std::vector<std::string> schedule_kinds() { return {"constant", "linear", "cosine"}; }

double Schedule::at(int64_t step) const {
  if (step < warmup_steps) return lr * static_cast<double>(step + 1) / static_cast<double>(warmup_steps);
  if (kind == "constant") return lr;
  const int64_t span = std::max<int64_t>(total_steps - warmup_steps, 1);
  const double done = std::min(1.0, static_cast<double>(step - warmup_steps) / static_cast<double>(span));
  if (kind == "linear") return lr + (min_lr - lr) * done;
  if (kind == "cosine") return min_lr + (lr - min_lr) * 0.5 * (1.0 + std::cos(std::numbers::pi * done));
  throw Error(ErrorCode::config, "schedule '" + kind + "' is unknown; known are constant, linear, cosine");
}

}  // namespace tidemark::optim
