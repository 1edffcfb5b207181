#include "tests/leaks/leaking_program.h"

#include <cstring>
#include <map>
#include <memory>
#include <random>

#include "memory/allocator/caching_allocator.h"
#include "memory/budget/memory_figures.h"

namespace tidemark::tests {
namespace {

using memory::Block;

constexpr int64_t kKiB = 1 << 10, kMiB = 1 << 20, kLeakBytes = 64 * kKiB;
constexpr int64_t kShapes = 12;  // shapes that come again and again: the cache fills

class LeakyProgram {
 public:
  LeakyProgram(DeviceMemory& device, Leak leak) : device_(device), leak_(leak) {
    weights_ = take(24 * kMiB, Category::weights);
  }

  memory::GrowthSample step() {
    compute();
    converse();
    if (step_ % 25 == 24) take(3 * kMiB, Category::checkpoint);
    leak_some();
    ++step_;
    return growth_sample(read_figures(device_, memory::books_of(allocator_.stats())));
  }

 private:
  Block take(int64_t bytes, Category category) { return Block(allocator_, {.bytes = bytes, .category = category}); }
  int64_t draw(int64_t low, int64_t high) { return low + static_cast<int64_t>(random_() % (high - low + 1)); }

  // Forward and backward over a batch of one of the shapes; a workspace for each shape is kept.
  void compute() {
    std::vector<Block> activations;
    for (int layer = 0; layer < 6; ++layer) activations.push_back(take(draw(20, 3000) * kKiB, Category::activations));
    const int64_t shape = draw(0, kShapes - 1);
    if (!workspaces_.contains(shape)) workspaces_[shape] = take((1 + shape) * 40 * kKiB, Category::workspace);
  }

  // A session that grows token by token and ends.
  void converse() {
    std::vector<Block> cache;
    for (int64_t token = draw(4, 20); token > 0; --token) cache.push_back(take(kLeakBytes, Category::kv_cache));
  }

  void leak_some() {
    switch (leak_) {
      case Leak::none:
        return;
      case Leak::unreleased_block:
        return forgotten_.push_back(take(kLeakBytes, Category::activations));
      case Leak::endless_cache:
        workspaces_[kShapes + step_] = take(kLeakBytes, Category::workspace);
        return;
      case Leak::retained_session:
        return forgotten_.push_back(take(kLeakBytes, Category::kv_cache));
      case Leak::host_memory:
        heap_.push_back(std::make_unique<char[]>(kLeakBytes));
        std::memset(heap_.back().get(), 1, kLeakBytes);
        return;
      case Leak::communicator:
        if (step_ % 4 != 0) return;
        communicators_.push_back(device_.reserve(device_.granularity_bytes()));
        communicators_.back().commit(0, device_.granularity_bytes());
        return;
    }
  }

  DeviceMemory& device_;
  const Leak leak_;
  memory::PagePool pool_{device_};
  memory::CachingAllocator allocator_{pool_};
  std::mt19937_64 random_{7};
  int64_t step_ = 0;
  Block weights_;
  std::map<int64_t, Block> workspaces_;
  std::vector<Block> forgotten_;
  std::vector<std::unique_ptr<char[]>> heap_;
  std::vector<VirtualRange> communicators_;
};

}  // namespace

std::string_view category_of(Leak leak) {
  switch (leak) {
    case Leak::none:
      return "";
    case Leak::unreleased_block:
      return "activations";
    case Leak::endless_cache:
      return "workspace";
    case Leak::retained_session:
      return "kv_cache";
    case Leak::host_memory:
      return "host";
    case Leak::communicator:
      return "unattributed";
  }
  return "";
}

std::vector<memory::GrowthSample> run_program(DeviceMemory& device, Leak leak, int64_t steps,
                                              const std::function<void()>& beside) {
  LeakyProgram program(device, leak);
  std::vector<memory::GrowthSample> samples;
  samples.reserve(static_cast<size_t>(steps));
  for (int64_t i = 0; i < steps; ++i) {
    if (beside) beside();
    samples.push_back(program.step());
  }
  return samples;
}

}  // namespace tidemark::tests
