// A planned run put on a device and trained: arena, executor, loader, checkpoints, evaluation, figures.
#pragma once

#include <atomic>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <vector>

#include "framework/data/loader.h"
#include "framework/runtime/executor.h"
#include "framework/train/planned_run.h"
#include "framework/train/progress.h"
#include "framework/train/trainer.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/arena/arena.h"

namespace tidemark::train {

// The loss is no number any more: names step and tensor. No file is at fault (that would be Error(data)).
class Diverged : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What happened, for people and for --json.
struct RunReport {
  int64_t first_step = 0;      // > 0 after a resume
  int64_t steps = 0;           // done in all
  std::vector<double> losses;  // of the steps of this process
  std::vector<double> step_seconds;
  std::optional<EvalResult> eval;  // the last one
  int64_t samples = 0;
  int64_t targets = 0;
  int64_t measured_peak_bytes = 0;  // the most that the device had given at the beginning and at the end
  int64_t alloc_calls_after_warmup = 0;
  int64_t replans = 0;         // plans of new shapes
  bool stopped_early = false;  // no better evaluation for early_stop rounds
  bool interrupted = false;    // asked to stop
};

// What early stopping carries from evaluation to evaluation.
struct EarlyStopState {
  double best_loss = std::numeric_limits<double>::infinity();
  int64_t rounds_without_better = 0;
  int64_t evaluated_step =
      0;  // steps that were done at the last evaluation; one that is due and was not made comes first
};

struct RunOptions {
  int64_t eval_every = 0;  // steps; 0: at the end of every epoch
  int64_t early_stop = 0;  // evaluations without a lower loss; 0: off
  Progress* progress = nullptr;
  const std::atomic<bool>* stop = nullptr;  // set by a signal handler: end after the step in hand
  // Called on the training thread: after a step, and after the evaluation that may follow it (checkpoints: position()
  // is then where the next batch begins).
  std::function<void(const StepResult&, double seconds, const data::HostBatch& batch)> after_step;
  std::function<void()> at_step_boundary;
  // Called with true before a step or an evaluation computes, with false after it: waiting for data and checkpoints are
  // no work.
  std::function<void(bool)> works;
};

class TrainingRun {
 public:
  // Takes the planned bytes from the device; with growth, those of the run segment now and a body's before it first
  // runs. debug: memory.debug, for a program compiled with guards. Throws Error(out_of_memory) if the device refuses
  // them. Both references must outlive the run. The allocator is that of packed data: `decorate` wraps it, and what it
  // gives is used instead.
  using Decorate = std::function<std::unique_ptr<memory::Allocator>(memory::Allocator&)>;
  TrainingRun(const PlannedRun& planned, DeviceMemory& device, bool growth, bool debug, const Decorate& decorate = {},
              memory::AllocatorOptions allocator_options = {});
  ~TrainingRun();

  Trainer& trainer() { return *trainer_; }
  const runtime::Executor& executor() const { return *executor_; }
  const memory::Arena& arena() const { return arena_; }
  memory::Arena& arena() { return arena_; }
  // Both nullptr unless data is packed.
  const memory::CachingAllocator* allocator() const { return allocator_.get(); }
  const runtime::DynamicExecutor* dynamic() const { return dynamic_.get(); }

  // Where the loader begins; set after a resume, before run().
  void set_position(data::SamplerPosition position) { position_ = position; }
  data::SamplerPosition position() const { return position_; }
  void set_early_stop(EarlyStopState state) { early_stop_ = state; }
  const EarlyStopState& early_stop() const { return early_stop_; }

  // Trains until total_steps, an early stop, or a request to stop. After a resume, an evaluation that was due and not
  // made comes first, and a run that had stopped early stops again. Throws Diverged.
  RunReport run(const RunOptions& options);

 private:
  void one_step(data::Loader& loader, const RunOptions& options, RunReport& report);
  bool evaluation_is_due(int64_t every) const;
  // Sets and gives report.stopped_early.
  bool is_stopped_early(const RunOptions& options, RunReport& report) const;
  // Makes an evaluation that was due when the run was stopped. False if early stopping says so, then or before.
  bool catch_up(const RunOptions& options, RunReport& report);
  void make_packed_bodies(const Decorate& decorate, memory::AllocatorOptions allocator_options);
  // Pages for all bodies that evaluate, or for all others; of packed data for all at once.
  void ensure_bodies(bool evaluation);
  // False if early stopping says so.
  bool evaluate(const RunOptions& options, RunReport& report);
  [[noreturn]] void refuse_not_a_number(const char* what, double loss) const;

  const PlannedRun& planned_;
  DeviceMemory& device_;
  memory::Arena arena_;
  std::unique_ptr<runtime::ExecutionObserver> debugger_;
  std::unique_ptr<runtime::Executor> executor_;
  // Of packed data:
  std::unique_ptr<memory::PagePool> pool_;
  std::unique_ptr<memory::CachingAllocator> allocator_;
  std::unique_ptr<memory::Allocator> decorated_;
  std::unique_ptr<runtime::DynamicExecutor> dynamic_;
  std::unique_ptr<PackedBodies> packed_;
  std::unique_ptr<Trainer> trainer_;
  data::SamplerPosition position_;
  EarlyStopState early_stop_;
};

}  // namespace tidemark::train
