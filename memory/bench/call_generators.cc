#include "memory/bench/call_generators.h"

#include <algorithm>
#include <cmath>
#include <random>

namespace tidemark::memory {
namespace {

// Writes calls and keeps what is live. std::mt19937_64 gives the same bits everywhere; the distributions of <random>
// do not, so none is used.
class Script {
 public:
  Script(std::string_view name, const CallGeneratorOptions& options)
      : options_(options), trace_{std::string(name), {}}, random_(options.seed) {}

  bool goes_on() const { return static_cast<int64_t>(trace_.calls.size()) < options_.calls; }
  int64_t live_bytes() const { return live_bytes_; }
  bool fits(int64_t bytes) const { return live_bytes_ + bytes <= options_.live_bytes; }

  // In [low, high].
  int64_t uniform(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  // In [low, high], every doubling as likely as the next.
  int64_t log_uniform(int64_t low, int64_t high) {
    const double share = static_cast<double>(random_() >> 11) * 0x1p-53;
    const double ratio = static_cast<double>(high) / static_cast<double>(low);
    return std::clamp(static_cast<int64_t>(static_cast<double>(low) * std::exp2(share * std::log2(ratio))), low, high);
  }

  int64_t allocate(int64_t bytes, Category category) {
    const int64_t id = static_cast<int64_t>(bytes_.size());
    trace_.calls.push_back({id, bytes, category});
    bytes_.push_back(bytes);
    live_bytes_ += bytes;
    return id;
  }
  void free(int64_t id) {
    trace_.calls.push_back({id, 0, Category::user});
    live_bytes_ -= bytes_[static_cast<size_t>(id)];
  }
  // Takes one out of the list, any of them.
  int64_t draw(std::vector<int64_t>& ids) {
    std::swap(ids[static_cast<size_t>(uniform(0, static_cast<int64_t>(ids.size()) - 1))], ids.back());
    const int64_t id = ids.back();
    ids.pop_back();
    return id;
  }

  CallTrace take() { return std::move(trace_); }

 private:
  const CallGeneratorOptions& options_;
  CallTrace trace_;
  std::mt19937_64 random_;
  std::vector<int64_t> bytes_;  // by id
  int64_t live_bytes_ = 0;
};

// Forward: an activation a layer, and a workspace that dies with the layer. Backward: two gradients at a time.
void forward_and_backward(Script& script, const std::vector<int64_t>& activations) {
  std::vector<int64_t> kept;
  for (const int64_t bytes : activations) {
    const int64_t workspace = script.allocate(std::max<int64_t>(1, bytes / 3), Category::workspace);
    kept.push_back(script.allocate(bytes, Category::activations));
    script.free(workspace);
  }
  int64_t gradient = script.allocate(activations.back(), Category::gradients);
  for (size_t layer = activations.size(); layer-- > 0;) {
    const int64_t next = script.allocate(activations[layer], Category::gradients);
    script.free(gradient);
    script.free(kept[layer]);
    gradient = next;
  }
  script.free(gradient);
}

CallTrace images(const CallGeneratorOptions& options) {
  Script script("images", options);
  // Twenty layers; a map at full size, two gradients and a workspace must fit.
  const int64_t pixels_at_most = options.live_bytes / (4 * 16 * 14);
  while (script.goes_on()) {
    const int64_t side = static_cast<int64_t>(std::sqrt(static_cast<double>(pixels_at_most)));
    const int64_t height = script.uniform(side / 3, side), width = script.uniform(side / 3, side);
    std::vector<int64_t> maps;
    for (int level = 0; level < 5; ++level) {
      const int64_t bytes = (height >> level) * (width >> level) * 16 * (int64_t{1} << level) * 4;
      for (int layer = 0; layer < 4; ++layer) maps.push_back(std::max<int64_t>(bytes, 4));
    }
    forward_and_backward(script, maps);
  }
  return script.take();
}

CallTrace lengths(const CallGeneratorOptions& options) {
  Script script("lengths", options);
  const int64_t width = 512;
  const int64_t tokens_at_most = options.live_bytes / (width * 4 * 50);
  while (script.goes_on()) {
    const int64_t tokens = script.uniform(tokens_at_most / 8, tokens_at_most);
    std::vector<int64_t> layers;
    for (int layer = 0; layer < 4; ++layer) {
      layers.push_back(tokens * width * 4);      // hidden states
      layers.push_back(tokens * width * 4 * 5);  // gates and cells
    }
    forward_and_backward(script, layers);
  }
  return script.take();
}

CallTrace caches(const CallGeneratorOptions& options) {
  Script script("caches", options);
  struct Answer {
    int64_t block = 0;
    int64_t bytes = 0;
    int64_t steps_left = 0;
  };
  const int64_t step_bytes = std::max<int64_t>(1, options.live_bytes / 400);  // so much longer at every growth
  std::vector<Answer> answers;
  while (script.goes_on()) {
    if (answers.empty() || (script.uniform(0, 9) == 0 && script.fits(8 * step_bytes))) {
      const int64_t bytes = script.uniform(1, 3) * step_bytes + script.uniform(0, step_bytes);
      answers.push_back({script.allocate(bytes, Category::kv_cache), bytes, script.uniform(2, 40)});
    }
    Answer& answer = answers[static_cast<size_t>(script.uniform(0, static_cast<int64_t>(answers.size()) - 1))];
    const int64_t larger = answer.bytes + step_bytes;
    if (answer.steps_left-- == 0 || !script.fits(larger)) {
      script.free(answer.block);
      std::swap(answer, answers.back());
      answers.pop_back();
      continue;
    }
    const int64_t grown = script.allocate(larger, Category::kv_cache);
    script.free(answer.block);
    answer.block = grown;
    answer.bytes = larger;
  }
  for (const Answer& answer : answers) script.free(answer.block);
  return script.take();
}

CallTrace models(const CallGeneratorOptions& options) {
  Script script("models", options);
  while (script.goes_on()) {
    std::vector<int64_t> weights;
    const int64_t weight_bytes = script.log_uniform(options.live_bytes / 16, options.live_bytes / 2);
    const int64_t layers = script.uniform(8, 48);
    for (int64_t layer = 0; layer < layers; ++layer) {
      weights.push_back(script.allocate(std::max<int64_t>(1, weight_bytes / layers), Category::weights));
      weights.push_back(script.allocate(script.uniform(256, 16'384), Category::weights));
    }
    const int64_t requests = script.uniform(3, 20);
    for (int64_t request = 0; request < requests; ++request) {
      const int64_t bytes = script.log_uniform(4096, options.live_bytes / 40);
      forward_and_backward(script, std::vector<int64_t>(8, bytes));
    }
    while (!weights.empty()) script.free(script.draw(weights));
  }
  return script.take();
}

CallTrace doubling(const CallGeneratorOptions& options) {
  Script script("doubling", options);
  while (script.goes_on()) {
    int64_t count = int64_t{1} << script.uniform(3, 6);
    for (; count >= 1; count /= 2) {
      std::vector<int64_t> blocks;
      const int64_t bytes = options.live_bytes / count - script.uniform(0, 4096);
      for (int64_t i = 0; i < count; ++i) blocks.push_back(script.allocate(bytes, Category::activations));
      while (!blocks.empty()) script.free(script.draw(blocks));
    }
  }
  return script.take();
}

CallTrace adversarial(const CallGeneratorOptions& options) {
  Script script("adversarial", options);
  std::vector<int64_t> blocks;
  int64_t most = options.live_bytes / 4;
  while (script.goes_on()) {
    const int64_t bytes = script.log_uniform(1, most);
    if (script.fits(bytes)) {
      blocks.push_back(script.allocate(bytes, Category::user));
      continue;
    }
    // Full: half of the blocks go, each second one by age, so that the holes lie between what stays.
    std::vector<int64_t> stay;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 2 == 0)
        script.free(blocks[i]);
      else
        stay.push_back(blocks[i]);
    }
    blocks = std::move(stay);
    most = script.log_uniform(options.live_bytes / 256, options.live_bytes / 4);
  }
  while (!blocks.empty()) script.free(script.draw(blocks));
  return script.take();
}

CallTrace small(const CallGeneratorOptions& options) {
  Script script("small", options);
  std::vector<int64_t> blocks;
  while (script.goes_on()) {
    const int64_t bytes = script.log_uniform(8, 64 << 10);
    // Waves: the number of live blocks goes up and down.
    const bool grows = (script.live_bytes() / 4096 + script.uniform(0, 3)) % 4 != 0;
    if (blocks.empty() || (grows && script.fits(bytes)))
      blocks.push_back(script.allocate(bytes, Category::user));
    else
      script.free(script.draw(blocks));
  }
  while (!blocks.empty()) script.free(script.draw(blocks));
  return script.take();
}

}  // namespace

const std::vector<CallGenerator>& call_generators() {
  static const std::vector<CallGenerator> all = {
      {"images", "training on images of changing sizes", images},
      {"lengths", "recurrent training on batches of changing length", lengths},
      {"caches", "many growing key and value caches", caches},
      {"models", "several models loaded in turn", models},
      {"doubling", "blocks freed, then fewer of twice the size", doubling},
      {"adversarial", "sizes of all orders, freed so that holes stay", adversarial},
      {"small", "blocks of bytes to KiB with all lifetimes", small},
  };
  return all;
}

const CallGenerator* find_call_generator(std::string_view name) {
  for (const CallGenerator& generator : call_generators()) {
    if (generator.name == name) return &generator;
  }
  return nullptr;
}

}  // namespace tidemark::memory
