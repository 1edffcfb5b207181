// What `tidemark soak` prints: a line of figures after every step, and the verdict.
#pragma once

#include <iosfwd>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "memory/budget/growth_verdict.h"
#include "memory/budget/memory_figures.h"

namespace tidemark::cli {

// Figures at one step boundary.
struct SoakSample {
  int64_t step = 0;  // from 1
  memory::MemoryFigures memory;
  int64_t kv_cache_peak_bytes = 0;  // within the step; the cache goes back at its end
  int64_t compiled_bodies = 0;      // kept on the host for shapes that come again
};

struct Soaked {
  std::string model;
  std::string device;
  std::string what;  // "train" or "generate"
  int64_t budget_bytes = 0;
  std::vector<SoakSample> samples;
  memory::GrowthVerdict verdict;
};

void print_soak_header(std::ostream& out);
void print_soak_line(const SoakSample& sample, std::ostream& out);

nlohmann::ordered_json soak_json(const Soaked& soaked);

}  // namespace tidemark::cli
