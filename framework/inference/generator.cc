#include "framework/inference/generator.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/inference/continuation_graph.h"

namespace tidemark::inference {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

runtime::DynamicOptions dynamic_options(const models::Model& model, const GeneratorOptions& options) {
  runtime::DynamicOptions dynamic;
  dynamic.compile.name = std::string(model.kind());
  dynamic.compile.threads = options.threads;
  dynamic.cached_bodies = options.cached_bodies;
  return dynamic;
}

template <class T>
std::span<std::byte> bytes_of(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

}  // namespace

// The texts of one request: as many lanes of one cache, all of one length.
struct Generator::Texts {
  Texts(Generator& owner, int64_t lanes)
      : generator(owner),
        cache(owner.device_, {owner.shape_.layers, lanes, owner.shape_.heads, owner.shape_.head_dim},
              owner.shape_.tokens),
        lanes(lanes),
        logits(static_cast<size_t>(lanes * owner.logits_width_)) {}
  ~Texts() { generator.kv_cache_bytes_.store(0, std::memory_order_relaxed); }

  runtime::BodyBindings bindings() {
    runtime::BodyBindings b;
    b.placed = generator.weights_.places();
    b.placed.push_back({kCache, cache.data()});
    b.inputs = {{kTokens, bytes_of(tokens)}, {kPositions, bytes_of(positions)}, {kLength, bytes_of(length)}};
    b.outputs = {{generator.logits_, bytes_of(logits)}};
    return b;
  }

  // Runs a body over what is bound: `count` new tokens of each of `texts` texts, which are then in the cache.
  void run(const char* what, const ContinuationSize& size, const runtime::BodyBindings& bound) {
    cache.ensure(length[0] + size.tokens);
    generator.kv_cache_bytes_.store(cache.committed_bytes(), std::memory_order_relaxed);
    const std::string key =
        std::string(what) + "[" + std::to_string(size.tokens) + "x" + std::to_string(size.lanes) + "]";
    generator.executor_.run(
        key,
        [&] {
          auto built = build_continuation_graph(generator.model_, generator.data_, generator.ops_.table(), key, size);
          return compile::BodySpec{.name = key, .graph = std::move(built.graph)};
        },
        bound);
    length[0] += static_cast<int32_t>(size.tokens);
  }

  Generator& generator;
  KvCache cache;
  const int64_t lanes;
  std::vector<int32_t> tokens, positions;  // of the new tokens
  std::vector<int32_t> length{0};          // tokens in the cache
  std::vector<float> logits;               // [lanes][logits_width_]
};

std::string_view to_string(FinishReason reason) {
  switch (reason) {
    case FinishReason::tokens:
      return "tokens";
    case FinishReason::context:
      return "context";
    case FinishReason::stopped:
      return "stopped";
  }
  return "unknown";
}

double GenerateReport::tokens_per_second() const {
  int64_t tokens = 0;
  for (const auto& sample : samples) tokens += std::ssize(sample);
  return token_seconds > 0 ? static_cast<double>(tokens) / token_seconds : 0;
}

Generator::Generator(const models::Model& model, const data::DataInfo& data, const ops::OpSet& ops,
                     const ModelWeights& weights, DeviceMemory& device, memory::Allocator& allocator,
                     const GeneratorOptions& options)
    : model_(model),
      data_(data),
      ops_(ops),
      weights_(weights),
      device_(device),
      shape_(model.cache_shape().value_or(models::CacheShape{})),
      executor_(ops, dynamic_options(model, options), allocator) {
  const ContinuationGraph built = build_continuation_graph(model, data, ops.table(), "logits", {});
  logits_ = built.logits;
  logits_width_ = built.logits_type.shape.dim(-1);
}

void Generator::check(const GenerateRequest& request) const {
  const auto refuse = [](const std::string& what) { throw Error(ErrorCode::config, what); };
  if (request.prompt.empty()) refuse("the prompt is empty; it needs at least one token");
  for (const int32_t token : request.prompt)
    if (token < 0 || token >= data_.classes)
      refuse("the prompt has token " + std::to_string(token) + "; tokens are below " + std::to_string(data_.classes));
  if (std::ssize(request.prompt) >= shape_.tokens)
    refuse("the prompt has " + std::to_string(request.prompt.size()) + " tokens, the longest text " +
           std::to_string(shape_.tokens) + " (model.context, or model.positions); shorten the prompt");
  if (request.tokens < 1 || request.samples < 1) refuse("tokens and samples: wanted at least 1");
  const SamplingOptions& sampling = request.sampling;
  if (!(sampling.temperature >= 0) || sampling.top_k < 0) refuse("temperature and top_k: wanted at least 0");
}

void Generator::check_memory(const KvCache& cache, const GenerateRequest& request) const {
  // The last token that is drawn is not read any more.
  const int64_t read = std::min(std::ssize(request.prompt) + request.tokens, shape_.tokens) - 1;
  // Neither shares a page with the other.
  const int64_t cache_bytes = device_.round_up(cache.bytes_for(read));
  const int64_t weight_bytes = device_.round_up(weights_.bytes());
  if (cache_bytes + weight_bytes <= device_.limit_bytes()) return;
  throw Error(ErrorCode::out_of_memory, std::to_string(request.samples) + " samples of " + std::to_string(read) +
                                            " tokens need a key/value cache of " + format_bytes(cache_bytes) +
                                            " beside weights of " + format_bytes(weight_bytes) +
                                            " in whole pages, the limit is " + format_bytes(device_.limit_bytes()) +
                                            "; ask for fewer tokens or samples, or raise memory.budget");
}

void Generator::read_prompt(Texts& texts, const std::vector<int32_t>& prompt) {
  const int64_t tokens = std::ssize(prompt) - 1;  // the last one is the first that is asked for logits
  if (tokens == 0) return;
  texts.tokens.assign(prompt.begin(), prompt.end() - 1);
  texts.positions.resize(static_cast<size_t>(tokens));
  std::iota(texts.positions.begin(), texts.positions.end(), 0);
  texts.run("prompt", {.texts = 1, .tokens = tokens, .lanes = texts.lanes, .logits = false}, texts.bindings());
}

void Generator::go_on(Texts& texts, const GenerateRequest& request, GenerateReport& report) {
  const auto lanes = static_cast<size_t>(texts.lanes);
  texts.tokens.assign(lanes, request.prompt.back());
  texts.positions.resize(lanes);
  const runtime::BodyBindings bound = texts.bindings();
  Sampler sampler(request.sampling, data_.classes);
  for (int64_t made = 0; made < request.tokens; ++made) {
    if (texts.length[0] + 1 == shape_.tokens) {
      report.finish = FinishReason::context;
      return;
    }
    texts.positions.assign(lanes, texts.length[0]);
    texts.run("tokens", {.texts = texts.lanes, .tokens = 1, .lanes = texts.lanes}, bound);
    for (size_t i = 0; i < lanes; ++i) {
      const std::span<const float> logits(texts.logits.data() + i * static_cast<size_t>(logits_width_),
                                          static_cast<size_t>(data_.classes));
      texts.tokens[i] = sampler.pick(logits, static_cast<int64_t>(i), texts.length[0]);
      report.samples[i].push_back(texts.tokens[i]);
      if (request.on_token) request.on_token(static_cast<int64_t>(i), texts.tokens[i]);
    }
    if (request.stop != nullptr && request.stop->load(std::memory_order_relaxed)) {
      report.finish = FinishReason::stopped;
      return;
    }
  }
}

GenerateReport Generator::generate(const GenerateRequest& request) {
  check(request);
  GenerateReport report;
  report.samples.resize(static_cast<size_t>(request.samples));
  Texts texts(*this, request.samples);
  check_memory(texts.cache, request);
  Clock::time_point begin = Clock::now();
  read_prompt(texts, request.prompt);
  report.prompt_seconds = seconds_since(begin);
  begin = Clock::now();
  go_on(texts, request, report);
  report.token_seconds = seconds_since(begin);
  report.kv_cache_bytes = texts.cache.committed_bytes();
  report.kv_cache_used_bytes = texts.cache.bytes_for(texts.length[0]);
  return report;
}

}  // namespace tidemark::inference
