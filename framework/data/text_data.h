// Text as windows of tokens: each window's targets are its tokens moved on by one.
#pragma once

#include "framework/data/dataset.h"

namespace tidemark::data {

// Fields "tokens" and "targets", i32[context]. Windows do not overlap. The last one of a split may be short: its tokens
// are then padded with 0 and its targets with -1. Every byte is a token, so classes is 256.
class TextKind : public DataKind {
 public:
  std::string_view kind() const override { return "text"; }
  void fields(config::Fields& fields) override;
  // Error(config) if the model gives no context.
  std::unique_ptr<Dataset> open(int64_t context) const override;
  std::optional<DataInfo> known_info(int64_t context) const override;

 private:
  std::string path_;
  std::string tokenizer_ = "bytes";
  double eval_share_ = 0.1;
};

}  // namespace tidemark::data
