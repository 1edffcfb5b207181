// A model kind: its configuration keys and how it builds one body's forward pass.
//
// To add a model: one .h/.cc/_test.cc with a class derived from Model and one line in model_list.cc.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/data/dataset.h"
#include "framework/fields/fields.h"
#include "graph/builder.h"

namespace tidemark::models {

// How a parameter or statistic gets its first value. Draws hang on (seed, name, element), not on the order of calls.
struct Initializer {
  enum class Kind { constant, normal } kind = Kind::constant;
  double value = 0.0;  // constant: the value; normal: the standard deviation
};

// What the models build with: a Builder whose parameters carry their initial values.
class ModelBuilder : public Builder {
 public:
  using Builder::Builder;

  ValueId weight(std::string_view name, Shape shape, Initializer initializer);
  // Running statistics: Category::statistics, Scope::run.
  ValueId statistic(std::string_view name, ValueType type, Initializer initializer);
  const std::map<std::string, Initializer>& initializers() const { return initializers_; }

 private:
  std::map<std::string, Initializer> initializers_;  // by value name
};

struct ModelRequest {
  const data::DataInfo& data;
  int64_t batch = 1;       // samples of this body
  int64_t rows = 0;        // rows of its per_row inputs, packed as data::PackedPart says; 0 where data is not packed
  bool training = true;    // false: no dropout, running statistics are read and not written
  int64_t norm_batch = 0;  // samples of one batch-norm group; 0 where the model has no batch norm
  uint64_t seed = 1;       // of dropout
  // External values made by the caller, in the order of data.fields, then:
  std::vector<ValueId> inputs;
  ValueId sample_ids;   // i32[batch]
  ValueId step_state;   // i32[2]
  ValueId loss_weight;  // f32[1]
  ValueId loss_before;  // f32[1], of the step's micro-batches before this one, to be added; invalid where nobody asks
};

struct ModelOutputs {
  ValueId loss;                    // f32[1], already weighted by loss_weight, on loss_before where the model takes it
  std::optional<ValueId> correct;  // f32[1], number of right predictions, where the model has such
};

// What a model that goes on with a text keeps of each of its tokens, and how long a text may be.
struct CacheShape {
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t head_dim = 0;
  int64_t tokens = 0;
};

// T new tokens of each of B texts, over a cache of those that came before. External values made by the caller:
struct ContinuationRequest {
  const data::DataInfo& data;
  ValueId tokens;      // i32[B,T]
  ValueId positions;   // i32[B,T], of the tokens in their texts
  ValueId length;      // i32[1], tokens in the cache
  ValueId cache;       // ops::kv_cache_type; B lanes, or any number where B is 1: see op cached_attention
  bool logits = true;  // false: the tokens go into the cache and nothing else is wanted
};

struct ContinuationOutputs {
  ValueId logits;  // f32[B,T,at least the data's classes], of the token after each; invalid if not wanted
  ValueId cache;   // its last version
};

class Model : public config::Section {
 public:
  virtual std::string_view kind() const = 0;
  // Problems between keys, or between the model and the data, in words; empty if none.
  virtual std::vector<std::string> problems(const data::DataInfo& data) const = 0;
  virtual ModelOutputs build(ModelBuilder& builder, const ModelRequest& request) const = 0;
  // Sequence length that the data room must deliver; 0 for models without one.
  virtual int64_t context() const { return 0; }
  // For models that go on with a text (tidemark generate).
  virtual std::optional<CacheShape> cache_shape() const { return std::nullopt; }
  // The same parameters and, without dropout, the same layers as build(). Only for models with a cache_shape().
  virtual ContinuationOutputs build_continuation(ModelBuilder& builder, const ContinuationRequest& request) const;
  // Whether batch statistics occur, so that memory.norm_batch applies.
  virtual bool has_batch_norm() const { return false; }
};

std::vector<std::unique_ptr<Model>> all_models();

}  // namespace tidemark::models
