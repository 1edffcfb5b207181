// The parameters of a model on a device, for bodies that only read them.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "framework/checkpoint/checkpoint.h"
#include "framework/models/model.h"
#include "framework/runtime/dynamic_executor.h"
#include "memory/allocator/allocator.h"

namespace tidemark::inference {

class ModelWeights {
 public:
  // Takes one block of Category::weights for all of them; their contents are anything at first. Throws Error(config) if
  // the model does not go on with a text, Error(out_of_memory). The allocator must outlive the object.
  ModelWeights(const models::Model& model, const data::DataInfo& data, const OpTable& ops,
               memory::Allocator& allocator);

  // The values that a training run with this train.seed begins with.
  void initialise(uint64_t seed);
  // Those of a checkpoint of a training run; what else it holds is left alone. Throws Error(config) naming the first
  // tensor if it is of a model with other keys, and what Checkpoint::load throws.
  void load(const checkpoint::Checkpoint& checkpoint);

  int64_t bytes() const { return block_.bytes(); }
  const std::vector<runtime::BodyBindings::Placed>& places() const { return places_; }
  const ValueType& type(size_t place) const { return types_[place]; }

 private:
  void refuse_other_model(const checkpoint::Checkpoint& checkpoint) const;
  std::vector<checkpoint::TensorTarget> targets() const;

  std::map<std::string, models::Initializer> initializers_;
  std::vector<ValueType> types_;  // parallel to places_
  std::vector<runtime::BodyBindings::Placed> places_;
  memory::Block block_;
};

}  // namespace tidemark::inference
