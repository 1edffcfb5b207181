// The lines of a text as samples of their own lengths, byte by byte: packed data.
#pragma once

#include "framework/data/dataset.h"

namespace tidemark::data {

// Fields "tokens" and "targets", i32[] per row, and "lengths", i32[] per sample. A line of n bytes has n + 1 rows: it
// is read from a line feed, its beginning, and each target is the next byte, the last one a line feed again, its end.
// So classes is 256. Carriage returns at the end of lines, empty lines and lines of more than max_length bytes are left
// out; how many lines were is logged (event lines_left_out).
class LinesKind : public DataKind {
 public:
  std::string_view kind() const override { return "lines"; }
  void fields(config::Fields& fields) override;
  // Throws as read_texts(), and Error(data) if fewer than two lines are left: one for training, one for evaluation.
  std::unique_ptr<Dataset> open(int64_t context) const override;

 private:
  std::string path_;
  int64_t max_length_ = 64;
  double eval_share_ = 0.1;
};

}  // namespace tidemark::data
