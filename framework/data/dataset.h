// Samples by index: what a data kind offers to the loader. Order, batching and prefetch are not its business.
//
// To add a data set: one .h/.cc/_test.cc with a class derived from Dataset, one line in data_list.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/fields/fields.h"
#include "graph/types.h"

namespace tidemark::data {

enum class Split { train, eval };

// One tensor of a sample; the batch tensor has the samples as its first dimension. Where per_row is set, a sample has
// Dataset::length() rows instead of one, and the batch tensor has the rows of all samples as its first dimension.
struct InputField {
  std::string name;      // "images", "labels"; "tokens", "targets"
  ValueType sample;      // type of one sample (of one row), without that dimension; labels: i32[] becomes i32[B]
  bool per_row = false;  // only in packed data
};

// What a model needs to know of the data when its graph is built.
struct DataInfo {
  std::vector<InputField> fields;
  int64_t classes = 0;  // labels lie in [0, classes): image classes, or the tokenizer's vocabulary
  std::string kind;     // "fashion_mnist", "text"
  // Samples differ in length, and batches lie packed: see PackedPart in loader.h. There is then a field "lengths",
  // i32[] per sample, and at least one per_row field.
  bool packed = false;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual const DataInfo& info() const = 0;
  virtual int64_t size(Split split) const = 0;  // samples, >= 1 for both splits
  // Number of targets of a sample that count in the loss (images: 1; text: tokens whose target is >= 0).
  virtual int64_t targets(Split split, int64_t index) const = 0;
  // Rows of a sample in its per_row fields, >= 1; they are its time steps. 1 where data is not packed.
  virtual int64_t length(Split split, int64_t index) const {
    (void)split, (void)index;
    return 1;
  }
  // Writes the fields of one sample, in the order of info().fields, each to its destination (exactly its bytes; of
  // per_row fields length() rows, one after the other).
  // Thread-safe; allocates nothing.
  virtual void read(Split split, int64_t index, std::span<std::byte* const> destinations) const = 0;
};

// The keys of the `data:` section of one kind, and how to open it. open() throws Error(data) naming file and offset
// (truncated gzip, wrong magic, label out of range, empty text, invalid UTF-8) or Error(io).
class DataKind : public config::Section {
 public:
  virtual std::string_view kind() const = 0;
  // `context` is the model's sequence length for text kinds, 0 otherwise.
  virtual std::unique_ptr<Dataset> open(int64_t context) const = 0;
  // The info() of the data set that open() would give, where it does not hang on the files: for who only wants to know
  // the tokens.
  virtual std::optional<DataInfo> known_info(int64_t context) const {
    (void)context;
    return std::nullopt;
  }
};

std::vector<std::unique_ptr<DataKind>> all_data_kinds();

}  // namespace tidemark::data
