// The bodies of a training run, as graphs: what runs in a step, for every size of micro-batch that the data can bring.
//
// Where one micro-batch holds the whole global batch and no clipping needs all gradients at once:
//   step[n]         forward, backward and updates; a gradient dies as soon as its parameter is updated
// else, with gradients that stay over the micro-batches of a step:
//   begin           gradients to zero
//   micro_batch[n]  forward and backward, gradients added on
//   update          clipping, then all updates
// and always:
//   evaluate[n]     forward only
//   checkpoint      nothing runs; the run segment alone is there, and is read
// Packed data, whose samples differ in length, has another shape nearly every batch. Its program has begin, update,
// checkpoint and, of micro_batch and evaluate, the widest shape that the data's lengths allow: the bound on all others,
// which are made by themselves when they come (packed_bodies.h).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "framework/compile/compile.h"
#include "framework/data/dataset.h"
#include "framework/models/model.h"
#include "framework/optim/optimizer.h"

namespace tidemark::train {

struct BatchPlan {
  int64_t global_batch = 1;
  int64_t micro_batch = 1;    // <= global_batch
  int64_t eval_batch = 0;     // samples whose mean loss evaluation weighs at once; 0: micro_batch
  int64_t train_samples = 1;  // of an epoch; its last global batch may be smaller
  int64_t eval_samples = 0;   // 0: no evaluation body
  int64_t norm_batch = 0;
  int64_t sum_batch = 0;   // samples that are summed at once: Note [Sums of groups]; 0: all of the micro-batch
  double clip_norm = 0.0;  // 0: no clipping
  uint64_t seed = 1;
  // Packed data: the most rows that a micro-batch of each split can have (data::most_rows); 0: not packed.
  int64_t train_rows = 0;
  int64_t eval_rows = 0;

  bool packed() const { return train_rows > 0; }
  int64_t accumulation_steps() const { return (global_batch + micro_batch - 1) / micro_batch; }
  bool accumulates() const { return packed() || accumulation_steps() > 1 || clip_norm > 0.0; }
  // The sizes of the micro-batches of a global batch of `samples`, in order: micro_batch as long as it lasts, then the
  // rest.
  std::vector<int64_t> micro_batches(int64_t samples) const;
  // Those of a whole evaluation: of batches of eval_batch, the last perhaps smaller.
  std::vector<int64_t> evaluation_micro_batches() const;
};

// Names of values that the trainer reads and writes.
inline constexpr const char* kSampleIds = "input/sample_ids";
inline constexpr const char* kStepState = "step/state";
inline constexpr const char* kLossWeight = "step/loss_weight";
inline constexpr const char* kLossBefore = "step/loss_before";  // where sums are made in groups
inline constexpr const char* kHyper = "step/hyper";
std::string input_name(const data::InputField& field);          // "input/images"
std::string body_name(std::string_view what, int64_t samples);  // "micro_batch[32]"

// What a body's graph is a function of, besides the run's settings.
struct BodyShape {
  int64_t samples = 1;
  int64_t rows = 0;  // 0: not packed
};
std::string body_name(std::string_view what, BodyShape shape);  // "micro_batch[32x417]"

struct TrainingGraphs {
  std::vector<compile::BodySpec> bodies;
  std::map<std::string, models::Initializer> initializers;  // of weights and statistics; optimizer state starts at 0
  // Every micro-batch that is a multiple of sum_batch gives the same bits: Note [Sums of groups].
  bool sums_in_groups = false;
  std::string in_the_way;  // why not: the first such node, quoted, and its op; empty without sum_batch
};

// The micro_batch and evaluate body of the widest shapes of packed data.
BodyShape widest_training(const BatchPlan& batch);
BodyShape widest_evaluation(const BatchPlan& batch);

// One body alone. Results: loss, then "correct" where the model has it.
compile::BodySpec micro_batch_body(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                                   const OpTable& ops, BodyShape shape);
compile::BodySpec evaluation_body(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                                  const OpTable& ops, BodyShape shape);

// All bodies of the program. Results of step and micro_batch bodies: loss, then "correct" where the model has it; of
// update with clipping: the norm. Throws Error(config) if the model cannot be built.
TrainingGraphs build_training_graphs(const models::Model& model, const data::DataInfo& data,
                                     const optim::Optimizer& optimizer, const BatchPlan& batch, const OpTable& ops);

}  // namespace tidemark::train
