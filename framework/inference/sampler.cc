#include "framework/inference/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.h"
#include "base/philox.h"

namespace tidemark::inference {
namespace {

constexpr uint32_t kSamplingOp = 0xfffffffeU;  // no dropout site and no initial value has this number

// Uniform in [0, 1), 53 bits: 24 would never draw a token rarer than 6e-8.
double uniform(uint64_t seed, int64_t sample, int64_t position) {
  const Philox4 bits = random_block({.seed = seed,
                                     .step = static_cast<uint32_t>(position),
                                     .sample = static_cast<uint32_t>(sample),
                                     .op = kSamplingOp},
                                    0);
  return static_cast<double>((uint64_t{bits.word[0]} << 32 | bits.word[1]) >> 11) * 0x1p-53;
}

}  // namespace

Sampler::Sampler(const SamplingOptions& options, int64_t classes) : options_(options) {
  tokens_.reserve(static_cast<size_t>(classes));
  weights_.reserve(static_cast<size_t>(classes));
}

int32_t Sampler::pick(std::span<const float> logits, int64_t sample, int64_t position) {
  for (size_t i = 0; i < logits.size(); ++i)
    if (!std::isfinite(logits[i]))
      throw Error(ErrorCode::data, "the logit of token " + std::to_string(i) + " at position " +
                                       std::to_string(position) + " is " + std::to_string(logits[i]) +
                                       "; the weights have diverged, take an earlier checkpoint");
  const auto likelier = [&](int32_t a, int32_t b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; };
  tokens_.resize(logits.size());
  std::iota(tokens_.begin(), tokens_.end(), 0);
  const int32_t best = *std::ranges::min_element(tokens_, likelier);
  if (options_.temperature == 0) return best;
  if (options_.top_k > 0 && options_.top_k < std::ssize(tokens_)) {
    std::nth_element(tokens_.begin(), tokens_.begin() + options_.top_k - 1, tokens_.end(), likelier);
    tokens_.resize(static_cast<size_t>(options_.top_k));
    std::ranges::sort(tokens_);  // the order that nth_element leaves is the library's own
  }
  weights_.clear();
  double sum = 0;
  for (const int32_t token : tokens_)
    weights_.push_back(sum += std::exp((double{logits[token]} - logits[best]) / options_.temperature));
  const double draw = uniform(options_.seed, sample, position) * sum;
  const auto drawn = std::ranges::upper_bound(weights_, draw);
  return tokens_[static_cast<size_t>(std::min(drawn - weights_.begin(), std::ssize(weights_) - 1))];
}

}  // namespace tidemark::inference
