// Learning rate by step.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::optim {

struct Schedule {
  std::string kind = "constant";  // constant | linear | cosine: what follows the warm-up
  double lr = 1e-3;               // the highest
  double min_lr = 0.0;            // where linear and cosine end
  int64_t warmup_steps = 0;       // linear from lr / warmup_steps to lr
  int64_t total_steps = 1;        // where linear and cosine arrive at min_lr

  // Learning rate of step `step` (0-based). Past total_steps it stays at min_lr (constant: at lr).
  double at(int64_t step) const;
};

std::vector<std::string> schedule_kinds();

}  // namespace tidemark::optim
