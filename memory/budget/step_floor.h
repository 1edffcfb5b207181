// What is left of a memory series when one takes away what comes and goes: the floor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace tidemark::memory {

// Shortest period of 2 to n/5 steps after which the series comes back to itself, but for a constant rise; 0 if there
// is none. Looks at the last 1,000 values.
size_t find_period(std::span<const double> series);

// The series without its periodic part: every phase is lowered to the lowest one.
std::vector<double> without_season(std::span<const double> series, size_t period);

// Lowest value of each of at most `blocks` (> 0) windows of equal length, the last of which ends with the series.
struct BlockMinima {
  std::vector<double> values;
  size_t block_steps = 1;
};
BlockMinima block_minima(std::span<const double> series, size_t blocks);

}  // namespace tidemark::memory
