// The micro-batches of packed data: bodies of their own on the dynamic executor, over the segments of the program.
//
// What stays over bodies (weights, state, accumulated gradients, step inputs) lies in the program's arena, as for all
// other data; the rest of a micro-batch lies in blocks of an allocator for as long as its body runs.
#pragma once

#include <vector>

#include "framework/data/loader.h"
#include "framework/models/model.h"
#include "framework/runtime/dynamic_executor.h"
#include "framework/runtime/executor.h"
#include "framework/train/training_program.h"

namespace tidemark::train {

class PackedBodies {
 public:
  // All references must outlive the object. `segments`: executor of the program of build_training_graphs.
  PackedBodies(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch, const OpTable& ops,
               const runtime::Executor& segments, runtime::DynamicExecutor& dynamic);
  PackedBodies(const PackedBodies&) = delete;
  PackedBodies& operator=(const PackedBodies&) = delete;

  struct Sums {
    float loss = 0;
    float correct = 0;  // 0 where the model counts none
  };
  enum class Pass { training, evaluation };  // evaluation: forward alone; training: gradients are added on
  Sums run(Pass pass, const data::HostBatch& batch, const data::PackedPart& part);

  // While it lives, no body runs block by block: for a second attempt after Error(out_of_memory).
  class InOneBlock {
   public:
    explicit InOneBlock(PackedBodies& bodies) : dynamic_(bodies.dynamic_) { dynamic_.set_plans_at_once(true); }
    ~InOneBlock() { dynamic_.set_plans_at_once(false); }
    InOneBlock(const InOneBlock&) = delete;
    InOneBlock& operator=(const InOneBlock&) = delete;

   private:
    runtime::DynamicExecutor& dynamic_;
  };

 private:
  void bind_part(const data::HostBatch& batch, const data::PackedPart& part);

  const models::Model& model_;
  const data::DataInfo& data_;
  const BatchPlan& batch_;
  const OpTable& ops_;
  runtime::DynamicExecutor& dynamic_;
  runtime::BodyBindings bindings_;
  Sums sums_;
};

// Bytes of the one block that the widest micro-batch or evaluation needs: the bound on those of all shapes.
int64_t widest_block_bytes(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                           const ops::OpSet& ops, const compile::Program& program,
                           const runtime::DynamicOptions& options);

}  // namespace tidemark::train
