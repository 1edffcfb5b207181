#include "device/cuda/language/emulation.h"

#include <ucontext.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tidemark::emulation {

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace {

constexpr int kWarpLanes = 32;
constexpr int64_t kMostThreads = 1024;
constexpr int64_t kMostSharedBytes = 48 * 1024;
constexpr size_t kStackBytes = 128 * 1024;

enum class State { ready, at_block_barrier, at_warp_barrier, ended };

struct Fiber {
  ucontext_t context;
  std::unique_ptr<std::byte[]> stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
  State state = State::ready;
};

int64_t count_of(dim3 size) { return int64_t{size.x} * size.y * size.z; }

dim3 position(int64_t i, dim3 size) {
  return {static_cast<unsigned>(i % size.x), static_cast<unsigned>(i / size.x % size.y),
          static_cast<unsigned>(i / size.x / size.y)};
}

class Block;
thread_local Block* running = nullptr;
thread_local int64_t launches = 0;
thread_local std::string pending_error, reported_error;

// Forwards, backwards, then shuffled with a seed of its own.
std::vector<int64_t> order_of(int64_t count) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), int64_t{0});
  if (launches % 3 == 1) std::reverse(order.begin(), order.end());
  if (launches % 3 == 2) std::shuffle(order.begin(), order.end(), std::mt19937_64(static_cast<uint64_t>(launches)));
  return order;
}

// The fibers of one block; reused for all blocks of a launch.
class Block {
 public:
  Block(dim3 threads, const std::function<void()>& body)
      : threads_(threads),
        body_(body),
        fibers_(static_cast<size_t>(count_of(threads))),
        order_(order_of(count_of(threads))) {
    slots_.resize(fibers_.size() + kWarpLanes);
  }

  // False if the block is stuck at a barrier.
  bool run() {
    shared_.clear();
    shared_used_ = 0;
    for (Fiber& fiber : fibers_) start(fiber);
    while (true) {
      bool any_ran = false;
      for (const int64_t i : order_) any_ran |= resume(static_cast<size_t>(i));
      if (std::all_of(fibers_.begin(), fibers_.end(), [](const Fiber& f) { return f.state == State::ended; }))
        return true;
      if (!release_barriers() && !any_ran) return false;
    }
  }

  void wait(State at) {
    Fiber& fiber = fibers_[current_];
    fiber.state = at;
    swapcontext(&fiber.context, &scheduler_);
  }

  void* shared_bytes(int id, int64_t bytes) {
    const auto [place, is_new] = shared_.try_emplace(id);
    if (is_new) {
      shared_used_ += bytes;
      if (shared_used_ > kMostSharedBytes) pending_error = "a block asks for more than 48 KiB of shared memory";
      place->second.assign(static_cast<size_t>(bytes), std::byte{0xFF});
    }
    return place->second.data();
  }

  int lane() const { return static_cast<int>(current_ % kWarpLanes); }
  uint64_t* warp_slots() { return &slots_[current_ - current_ % kWarpLanes]; }
  int warp_lanes() const {
    const size_t first = current_ - current_ % kWarpLanes;
    return static_cast<int>(std::min<size_t>(kWarpLanes, fibers_.size() - first));
  }

 private:
  static void enter() {
    running->body_();
    running->wait(State::ended);
  }

  void start(Fiber& fiber) {
    fiber.state = State::ready;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = fiber.stack.get();
    fiber.context.uc_stack.ss_size = kStackBytes;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, &Block::enter, 0);
  }

  bool resume(size_t i) {
    if (fibers_[i].state != State::ready) return false;
    current_ = i;
    threadIdx = position(static_cast<int64_t>(i), threads_);
    running = this;
    swapcontext(&scheduler_, &fibers_[i].context);
    return true;
  }

  // Lets a group on whose living members all wait at that kind of barrier.
  bool release(size_t first, size_t last, State at) {
    bool any_waits = false;
    for (size_t i = first; i < last; ++i) {
      if (fibers_[i].state == State::ended) continue;
      if (fibers_[i].state != at) return false;
      any_waits = true;
    }
    for (size_t i = first; i < last; ++i) {
      if (fibers_[i].state == at) fibers_[i].state = State::ready;
    }
    return any_waits;
  }

  bool release_barriers() {
    bool any_released = release(0, fibers_.size(), State::at_block_barrier);
    for (size_t first = 0; first < fibers_.size(); first += kWarpLanes) {
      any_released |= release(first, std::min(first + kWarpLanes, fibers_.size()), State::at_warp_barrier);
    }
    return any_released;
  }

  const dim3 threads_;
  const std::function<void()>& body_;
  std::vector<Fiber> fibers_;
  const std::vector<int64_t> order_;
  ucontext_t scheduler_;
  size_t current_ = 0;
  std::map<int, std::vector<std::byte>> shared_;
  int64_t shared_used_ = 0;
  std::vector<uint64_t> slots_;
};

}  // namespace

void launch(dim3 blocks, dim3 threads, const std::function<void()>& body) {
  const int64_t count = count_of(threads);
  if (count < 1 || count > kMostThreads || count_of(blocks) < 1) {
    pending_error = std::to_string(count_of(blocks)) + " blocks of " + std::to_string(count) + " threads: out of range";
    return;
  }
  blockDim = threads;
  gridDim = blocks;
  Block block(threads, body);
  for (const int64_t i : order_of(count_of(blocks))) {
    blockIdx = position(i, blocks);
    if (block.run()) continue;
    pending_error = "block " + std::to_string(i) + " is stuck: some threads wait at a barrier that others do not reach";
    break;
  }
  ++launches;
}

const char* launch_error() {
  reported_error = std::exchange(pending_error, "");
  return reported_error.empty() ? nullptr : reported_error.c_str();
}

void block_barrier() { running->wait(State::at_block_barrier); }
void warp_barrier() { running->wait(State::at_warp_barrier); }
void* shared_bytes(int id, int64_t bytes) { return running->shared_bytes(id, bytes); }
uint64_t* warp_slots() { return running->warp_slots(); }
int lane() { return running->lane(); }
int warp_lanes() { return running->warp_lanes(); }

void require_full_mask(unsigned mask) {
  if (mask != 0xFFFFFFFFu) pending_error = "a shuffle with a partial mask is not emulated";
}

}  // namespace tidemark::emulation
