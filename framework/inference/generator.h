// Goes on with a text, token by token, over a cache of keys and values that grows.
//
// Made once, asked often: weights and compiled bodies stay from request to request; the cache and everything else is
// given back when a request ends, however it ends.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/inference/kv_cache.h"
#include "framework/inference/model_weights.h"
#include "framework/inference/sampler.h"
#include "framework/runtime/dynamic_executor.h"

namespace tidemark::inference {

struct GenerateRequest {
  std::vector<int32_t> prompt;  // at least one token
  int64_t tokens = 100;         // new ones of each sample, at least one
  int64_t samples = 1;          // texts that go on from the prompt, side by side
  SamplingOptions sampling;
  // Called for every new token in order of position, within it of sample; may be empty.
  std::function<void(int64_t sample, int32_t token)> on_token;
  const std::atomic<bool>* stop = nullptr;  // ends the request after the token in hand
};

// Why a text ended: it has the tokens that were asked for, no position is left in the model, or `stop` was set.
enum class FinishReason { tokens, context, stopped };

std::string_view to_string(FinishReason reason);

struct GenerateReport {
  std::vector<std::vector<int32_t>> samples;  // new tokens
  FinishReason finish = FinishReason::tokens;
  double prompt_seconds = 0;        // all but the last token of the prompt
  double token_seconds = 0;         // the runs that gave a token
  int64_t kv_cache_bytes = 0;       // pages of the cache at its largest
  int64_t kv_cache_used_bytes = 0;  // of them filled, in whole blocks of 16 tokens

  double tokens_per_second() const;  // of all samples together
};

struct GeneratorOptions {
  int threads = 1;
  size_t cached_bodies = 64;  // compiled bodies kept: one a length of prompt, one a number of samples
};

class Generator {
 public:
  // All references must outlive the generator.
  Generator(const models::Model& model, const data::DataInfo& data, const ops::OpSet& ops, const ModelWeights& weights,
            DeviceMemory& device, memory::Allocator& allocator, const GeneratorOptions& options);

  // The texts are a function of weights, prompt, sampling, samples, threads and kind of CPU; draws hang on (seed,
  // sample, position). Throws Error(config) for a request that cannot be (naming the field), Error(out_of_memory),
  // Error(data) for weights that have diverged, and what on_token throws; the generator can be used again after that.
  GenerateReport generate(const GenerateRequest& request);

  // Tokens of the longest text, prompt included.
  int64_t longest_text() const { return shape_.tokens; }
  // Readable from any thread, while generate() is running too:
  int64_t kv_cache_bytes() const { return kv_cache_bytes_.load(std::memory_order_relaxed); }
  CategoryBytes live_bytes() const { return executor_.live_bytes(); }
  runtime::DynamicCounts counts() const { return executor_.counts(); }

 private:
  struct Texts;

  void check(const GenerateRequest& request) const;
  // The cache at its largest beside the weights against the device's limit; before anything runs.
  void check_memory(const KvCache& cache, const GenerateRequest& request) const;
  void read_prompt(Texts& texts, const std::vector<int32_t>& prompt);
  void go_on(Texts& texts, const GenerateRequest& request, GenerateReport& report);

  const models::Model& model_;
  const data::DataInfo& data_;
  const ops::OpSet& ops_;
  const ModelWeights& weights_;
  DeviceMemory& device_;
  const models::CacheShape shape_;
  std::string logits_;        // name of the result
  int64_t logits_width_ = 0;  // at least data.classes
  runtime::DynamicExecutor executor_;
  std::atomic<int64_t> kv_cache_bytes_{0};
};

}  // namespace tidemark::inference
