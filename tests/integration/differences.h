// How far two runs are apart, and copies of what a step leaves in the arena.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/integration/tiny_run.h"

namespace tidemark::tests {

using Tensors = std::map<std::string, std::vector<float>>;

// Gradients of the last step; the program must accumulate (or clip), else none outlive their step.
Tensors gradients(TinyRun& tiny);
// Persistent f32 tensors of one category.
Tensors persistent(TinyRun& tiny, Category category);

// ||a - b|| / ||b||, both in double; 0 if both are 0.
double relative_distance(const std::vector<float>& a, const std::vector<float>& b);
// Root of the mean square of a[i] - b[i].
double rms_difference(const std::vector<double>& a, const std::vector<double>& b);

// Moves every weight to one of its two neighbours or leaves it, by random bits of `seed`.
void move_weights_by_one_ulp(TinyRun& tiny, uint64_t seed);

}  // namespace tidemark::tests
