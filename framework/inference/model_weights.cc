#include "framework/inference/model_weights.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "framework/inference/continuation_graph.h"
#include "framework/train/initial_values.h"

namespace tidemark::inference {
namespace {

constexpr int64_t kAlignment = memory::kAllocationAlignment;

}  // namespace

ModelWeights::ModelWeights(const models::Model& model, const data::DataInfo& data, const OpTable& ops,
                           memory::Allocator& allocator) {
  ContinuationGraph built = build_continuation_graph(model, data, ops, "weights", {});
  initializers_ = std::move(built.initializers);
  std::vector<int64_t> offsets;
  int64_t bytes = 0;
  for (const Value& value : built.graph.values()) {
    if (value.category != Category::weights || !value.external()) continue;
    places_.push_back({value.name, nullptr});
    types_.push_back(value.type);
    offsets.push_back(bytes);
    bytes += (value.type.bytes() + kAlignment - 1) / kAlignment * kAlignment;
  }
  block_ = memory::Block(allocator, {.bytes = bytes, .category = Category::weights});
  for (size_t i = 0; i < places_.size(); ++i) places_[i].bytes = block_.data() + offsets[i];
}

std::vector<checkpoint::TensorTarget> ModelWeights::targets() const {
  std::vector<checkpoint::TensorTarget> targets;
  for (size_t i = 0; i < places_.size(); ++i)
    targets.push_back({places_[i].name, types_[i], {places_[i].bytes, static_cast<size_t>(types_[i].bytes())}});
  return targets;
}

void ModelWeights::initialise(uint64_t seed) {
  for (const checkpoint::TensorTarget& target : targets())
    train::write_initial_value(initializers_.at(target.name), target.name, target.type, seed, target.bytes);
}

void ModelWeights::refuse_other_model(const checkpoint::Checkpoint& checkpoint) const {
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorCode::config, "checkpoint '" + checkpoint.folder() + "' is of a model with other keys: " + what +
                                       "; give the configuration that it was trained with, or none");
  };
  std::map<std::string, ValueType> stored;
  for (const checkpoint::StoredTensor& tensor : checkpoint.tensors()) stored[tensor.name] = tensor.type;
  std::set<std::string> wanted;
  for (const checkpoint::TensorTarget& target : targets()) {
    const auto found = stored.find(target.name);
    if (found == stored.end()) refuse("it has no tensor '" + target.name + "'");
    if (found->second != target.type)
      refuse("tensor '" + target.name + "' is " + to_string(found->second) + " there, " + to_string(target.type) +
             " here");
    wanted.insert(target.name);
  }
  // Optimizer state is named after its parameter: PARAMETER/momentum.
  for (const auto& [name, type] : stored) {
    const std::string owner = name.substr(0, name.rfind('/'));
    if (!wanted.contains(name) && !wanted.contains(owner)) refuse("tensor '" + name + "' has no place here");
  }
}

void ModelWeights::load(const checkpoint::Checkpoint& checkpoint) {
  refuse_other_model(checkpoint);
  checkpoint.load(targets(), true);
}

}  // namespace tidemark::inference
