// Runs bodies that are not part of a compiled program, because their shapes are known only when their data is: packed
// sequences, a cache that grows. Note [Dynamic bodies]
//
// A body is known by a key that names its exact shape ("micro_batch[32x417]").
//   first appearance   kernels and lifetimes alone; every buffer comes from the allocator right before the instruction
//                      that first writes it and goes back right after the one that last reads it; an output that may
//                      take an input's bytes takes them over
//   from the second    offsets are planned, and the body runs in one block that is taken for the run
// Kernels and their order are the same in both, so the results are equal bit by bit. Between two runs nothing is held.
//
// An allocator that refuses (Error(out_of_memory)) leaves nothing behind: all blocks go back, then the error goes on.
// Bodies that update values of Scope::run in place are planned at once, so that their only request comes before the
// first instruction: a refusal then has changed no such value. Values of other scopes that are updated in place
// (accumulated gradients) may be half-way; whoever repeats the step starts them anew.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/category.h"
#include "framework/compile/compile.h"

namespace tidemark::memory {
class Allocator;
}

namespace tidemark::compile {
struct UnplacedBody;
}

namespace tidemark::runtime {

class DynamicBody;

struct DynamicOptions {
  // Device, threads, alignment, planner; recomputation, its budget and debug_guards are not looked at.
  compile::CompileOptions compile;
  // Bodies kept, planned or not; the one that was not used for longest goes first, and is new when it comes again.
  // Bounds host memory: a body keeps its kernels, whose code oneDNN compiles for the shape (0.4 MiB for an LSTM of two
  // layers, made anew in 2 ms).
  size_t cached_bodies = 64;
  // Work of one offset plan, in units of memory::OffsetPlannerOptions; below CompileOptions' since shapes are many.
  int64_t planning_work_limit = 200'000;
  // What the allocator is known to have room for. A body whose blocks, taken one by one in pages of `page_bytes`, could
  // together be above it is planned at its first appearance, since one block has no such loss; a plan that is above it
  // is searched for again, with the whole work of `compile`.
  int64_t room_bytes = std::numeric_limits<int64_t>::max();
  int64_t page_bytes = 1;
};

// How the executor plans a body: what its one block takes is known before it runs.
memory::OffsetPlan plan_block(const compile::UnplacedBody& body, const DynamicOptions& options);

// What a body reads and writes outside its own buffers. Names that the body does not have are ignored, so one list can
// serve several bodies; every run of a key has the same names in the same order (TM_CHECK).
struct BodyBindings {
  // Values whose bytes lie elsewhere, by the name of their first version: weights, optimizer state, accumulated
  // gradients, caches. Read and updated in place there; a result placed so is written there. All values of Scope::run
  // must be among them (TM_CHECK). Aligned to CompileOptions::alignment.
  struct Placed {
    std::string name;
    std::byte* bytes = nullptr;
  };
  // External values that get a buffer of the body's and are copied into it before the first instruction; all bytes of
  // the value (TM_CHECK). Every external value is here or among `placed` (TM_CHECK).
  struct Input {
    std::string name;
    std::span<const std::byte> bytes;
  };
  // Results that are copied out after the last instruction, all bytes.
  struct Output {
    std::string name;
    std::span<std::byte> bytes;
  };
  std::vector<Placed> placed;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
};

// Counts since the start.
struct DynamicCounts {
  int64_t unplanned_runs = 0;
  int64_t planned_runs = 0;
  int64_t plans = 0;      // offset plans made: tidemark_replans_total{reason="new_shape"}
  int64_t forgotten = 0;  // bodies that the cache let go
};

class DynamicExecutor {
 public:
  // Both references must outlive the executor.
  DynamicExecutor(const ops::OpSet& ops, DynamicOptions options, memory::Allocator& allocator);
  ~DynamicExecutor();

  // `make_body` is called where the key is new; its graph must be a function of the key. Throws what it, the compiler,
  // the allocator and the kernels throw; the executor can be used again after that.
  void run(std::string_view key, const std::function<compile::BodySpec()>& make_body, const BodyBindings& bindings);

  // True: new bodies too are planned at once, for a step that is repeated because blocks one by one did not fit.
  void set_plans_at_once(bool at_once) { plans_at_once_ = at_once; }

  // Whether a body of this key is kept, and is planned.
  bool knows(std::string_view key) const;
  bool is_planned(std::string_view key) const;
  size_t size() const;

  // Readable from any thread, while run() is running too:
  DynamicCounts counts() const;
  // Live bytes of the body's own buffers at the instruction that runs, by category; zeros between two runs. What is
  // placed elsewhere is counted there.
  CategoryBytes live_bytes() const;

 private:
  class Cache;
  class Running;
  using LiveTable = std::vector<CategoryBytes>;

  DynamicBody& compile_new(std::string_view key, const std::function<compile::BodySpec()>& make_body,
                           const BodyBindings& bindings);
  bool may_run_unplanned(const compile::UnplacedBody& body) const;

  const ops::OpSet& ops_;
  const DynamicOptions options_;
  memory::Allocator& allocator_;
  std::unique_ptr<Cache> cache_;
  bool plans_at_once_ = false;

  // Of the body that runs: a number of its own above, the instruction below; 0: none runs.
  std::atomic<uint64_t> position_{0};
  mutable std::mutex live_mutex_;  // taken once a body, and by readers while they copy the pointer
  std::shared_ptr<const LiveTable> live_;
  uint64_t serial_ = 0;
  std::atomic<int64_t> unplanned_runs_{0}, planned_runs_{0}, plans_{0}, forgotten_{0};
};

}  // namespace tidemark::runtime
