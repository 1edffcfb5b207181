// One optimizer step after another on a compiled program: load a micro-batch, run its body, update, read the loss.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "framework/data/loader.h"
#include "framework/optim/optimizer.h"
#include "framework/optim/schedule.h"
#include "framework/runtime/executor.h"
#include "framework/train/packed_bodies.h"
#include "framework/train/training_program.h"

namespace tidemark::train {

struct StepResult {
  double loss = 0;                      // over the targets of the global batch
  std::optional<double> correct;        // share of right predictions, where the model counts them
  std::optional<double> gradient_norm;  // before clipping, where clipping is on
};

struct EvalResult {
  double loss = 0;  // mean over all targets
  std::optional<double> accuracy;
  int64_t samples = 0;
};

class Trainer {
 public:
  // All references must outlive the trainer. The program is that of build_training_graphs(batch); `packed` runs the
  // micro-batches of packed data, nullptr for other data.
  Trainer(runtime::Executor& executor, const data::DataInfo& data, const optim::Optimizer& optimizer,
          optim::Schedule schedule, BatchPlan batch, PackedBodies* packed = nullptr);

  // First values of all persistent tensors. A draw hangs on (seed, tensor name, element) alone.
  void initialise(const std::map<std::string, models::Initializer>& initializers);

  // Runs one step and counts it. Allocates nothing, but for packed data: there a step that the allocator refused is run
  // again with every body in one block, and Error(out_of_memory) comes if that is refused too; weights and optimizer
  // state are then as before the step, and the same batch may be given again.
  StepResult step(const data::HostBatch& batch);

  // Mean loss and accuracy over the first `samples` samples of the loader's epoch (samples <= BatchPlan::eval_samples).
  EvalResult evaluate(data::Loader& loader, int64_t samples);

  int64_t steps_done() const { return steps_done_; }
  void set_steps_done(int64_t steps) { steps_done_ = steps; }
  double learning_rate() const { return schedule_.at(steps_done_); }

  // Persistent tensors and their bytes in the arena, in the program's order: what a checkpoint holds.
  struct PersistentBytes {
    const compile::Tensor* tensor;
    std::span<std::byte> bytes;
  };
  std::vector<PersistentBytes> persistent() const;

  // SHA-256 over the bytes of all weights, in name order.
  std::string parameters_sha256() const;

 private:
  // A body with the addresses that the trainer writes before and reads after it runs; nullptr where it has no such
  // value.
  struct BoundBody {
    size_t index = 0;
    int64_t samples = 0;
    std::vector<std::byte*> fields;
    int32_t* sample_ids = nullptr;
    int32_t* step_state = nullptr;
    float* loss_weight = nullptr;
    float* loss_before = nullptr;
    float* hyper = nullptr;
    std::vector<const float*> results;
  };

  BoundBody bind(const std::string& name, int64_t samples) const;
  const BoundBody& bound(const std::vector<BoundBody>& bodies, int64_t samples) const;
  void load(const BoundBody& body, const data::HostBatch& batch, int64_t first) const;
  void write_step_inputs(const BoundBody& body, int64_t targets) const;
  BoundBody bind_segments() const;
  StepResult run_step(const data::HostBatch& batch);
  void run_micro_batches(const std::vector<BoundBody>& bodies, const data::HostBatch& batch, double& loss,
                         double& correct);
  void run_parts(PackedBodies::Pass pass, const data::HostBatch& batch, double& loss, double& correct);
  void evaluate_parts(const data::HostBatch& batch, double& loss, double& correct);

  runtime::Executor& executor_;
  const data::DataInfo& data_;
  const optim::Optimizer& optimizer_;
  const optim::Schedule schedule_;
  const BatchPlan batch_;
  std::vector<BoundBody> training_;  // step or micro_batch bodies, by size
  std::vector<BoundBody> evaluation_;
  PackedBodies* packed_;
  std::optional<BoundBody> packed_inputs_;  // step inputs of packed data, in the step segment
  std::optional<BoundBody> begin_;
  std::optional<BoundBody> update_;
  bool counts_correct_ = false;
  int64_t steps_done_ = 0;
};

}  // namespace tidemark::train
