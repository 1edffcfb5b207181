// Recurrent language model over packed lines: embedding, layers of long short-term memory, a linear head.
// Hochreiter and Schmidhuber, "Long Short-Term Memory", Neural Computation 1997.
#pragma once

#include "framework/models/model.h"

namespace tidemark::models {

class Lstm : public Model {
 public:
  std::string_view kind() const override { return "lstm"; }
  void fields(config::Fields& fields) override;
  std::vector<std::string> problems(const data::DataInfo& data) const override;
  // Needs packed data with the fields tokens, targets and lengths, and request.rows.
  ModelOutputs build(ModelBuilder& builder, const ModelRequest& request) const override;

 private:
  ValueId layer(ModelBuilder& builder, ValueId x, ValueId lengths) const;
  int64_t classes(const data::DataInfo& data) const { return vocabulary_ > 0 ? vocabulary_ : data.classes; }

  int64_t layers_ = 2;
  int64_t width_ = 256;
  int64_t embedding_ = 64;
  double dropout_ = 0.0;
  int64_t vocabulary_ = 0;
};

}  // namespace tidemark::models
