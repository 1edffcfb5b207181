// Chooses the next token from logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tidemark::inference {

struct SamplingOptions {
  uint64_t seed = 1;
  double temperature = 1.0;  // logits are divided by it; 0: always the likeliest token
  int64_t top_k = 0;         // only the so many likeliest tokens can be drawn; 0: all of them
};

// A draw hangs on (seed, sample, position) and the logits alone.
class Sampler {
 public:
  // For at most `classes` logits: pick() allocates nothing.
  Sampler(const SamplingOptions& options, int64_t classes);

  // Of two equal logits the smaller token counts as the likelier. Throws Error(data) if a logit is no number.
  int32_t pick(std::span<const float> logits, int64_t sample, int64_t position);

 private:
  const SamplingOptions options_;
  std::vector<int32_t> tokens_;
  std::vector<double> weights_;
};

}  // namespace tidemark::inference
