// Decoder-only Transformer with pre-normalisation and a head tied to the token embedding.
// Radford et al., "Language Models are Unsupervised Multitask Learners", 2019.
#pragma once

#include <functional>

#include "framework/models/model.h"

namespace tidemark::models {

class DropoutSites;

class Gpt : public Model {
 public:
  std::string_view kind() const override { return "gpt"; }
  void fields(config::Fields& fields) override;
  std::vector<std::string> problems(const data::DataInfo& data) const override;
  ModelOutputs build(ModelBuilder& builder, const ModelRequest& request) const override;
  int64_t context() const override { return context_; }
  std::optional<CacheShape> cache_shape() const override;
  ContinuationOutputs build_continuation(ModelBuilder& builder, const ContinuationRequest& request) const override;

 private:
  struct Tables {
    ValueId tokens, positions;
  };
  // The heads' outputs from queries, keys and values side by side.
  using Attend = std::function<ValueId(ValueId qkv, int64_t layer)>;

  int64_t rows_of_positions() const;
  Tables tables(ModelBuilder& builder, const data::DataInfo& data) const;
  ValueId block(ModelBuilder& builder, ValueId x, DropoutSites& dropout, int64_t layer, const Attend& attend) const;
  ValueId blocks(ModelBuilder& builder, ValueId x, DropoutSites& dropout, const Attend& attend) const;
  int64_t classes(const data::DataInfo& data) const { return vocabulary_ > 0 ? vocabulary_ : data.classes; }

  int64_t layers_ = 6;
  int64_t heads_ = 6;
  int64_t width_ = 192;
  int64_t context_ = 128;
  int64_t positions_ = 0;
  double dropout_ = 0.0;
  int64_t vocabulary_ = 0;
};

}  // namespace tidemark::models
