#include "ops/embedding/embedding.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::InputSpec;
using testing::OpCase;
using testing::Reference;

OpSet embedding_ops() {
  OpSet ops;
  ops.add(embedding_op());
  ops.add(embedding_grad_op());
  ops.add(position_grad_op());
  return ops;
}

std::vector<Reference> embedding(const Attributes&, const std::vector<Reference>& inputs) {
  const int64_t columns = inputs[1].type.shape[1], length = inputs[0].type.shape.dim(-1);
  std::vector<int64_t> dims = inputs[0].type.shape.dims();
  dims.push_back(columns);
  Reference out{{DType::f32, Shape(dims)}, {}};
  for (size_t i = 0; i < inputs[0].data.size(); ++i) {
    const int64_t row = static_cast<int64_t>(inputs[0].data[i]), t = static_cast<int64_t>(i) % length;
    for (int64_t c = 0; c < columns; ++c) {
      const double position = inputs[2].data.empty() ? 0 : inputs[2].data[static_cast<size_t>(t * columns + c)];
      out.data.push_back(inputs[1].data[static_cast<size_t>(row * columns + c)] + position);
    }
  }
  return {out};
}

struct Sizes {
  Shape tokens;
  int64_t vocabulary, columns, positions;  // positions 0: absent
};

void PrintTo(const Sizes& s, std::ostream* out) { *out << to_string(s.tokens) << " of " << s.vocabulary; }

class Embedding : public ::testing::TestWithParam<Sizes> {
 protected:
  const Sizes s_ = GetParam();
  const InputSpec tokens_{.type = {DType::i32, s_.tokens}, .low = 0, .high = s_.vocabulary};
  const ValueType table_{DType::f32, {s_.vocabulary, s_.columns}};
  const ValueType positions_{DType::f32, {s_.positions, s_.columns}};
  const int64_t count_ = s_.tokens.elements(), length_ = s_.tokens.dim(-1);
  const int64_t row_bytes_ = 4 * s_.columns;
  const double elements_ = static_cast<double>(count_ * s_.columns);

  ValueType dy() const {
    std::vector<int64_t> dims = s_.tokens.dims();
    dims.push_back(s_.columns);
    return {DType::f32, Shape(dims)};
  }
};

TEST_P(Embedding, MatchesReference) {
  const bool has_positions = s_.positions > 0;
  check_op_case(embedding_ops(),
                OpCase{.name = ::testing::PrintToString(s_),
                       .op = "embedding",
                       .inputs = {tokens_, {.type = table_}, {.type = positions_, .absent = !has_positions}},
                       .reference = embedding,
                       .tolerance = 1e-6,
                       .flops = has_positions ? elements_ : 0,
                       .bytes_read = 4 * count_ + count_ * row_bytes_ + (has_positions ? length_ * row_bytes_ : 0)});
}

TEST_P(Embedding, TableGradientMatchesReference) {
  for (const bool has_acc : {false, true}) {
    const auto reference = [&](const Attributes&, const std::vector<Reference>& inputs) {
      Reference sum{table_, inputs[2].data};
      sum.data.resize(static_cast<size_t>(table_.shape.elements()));
      for (size_t i = 0; i < inputs[1].data.size(); ++i) {
        const size_t columns = static_cast<size_t>(s_.columns);
        sum.data[static_cast<size_t>(inputs[0].data[i / columns]) * columns + i % columns] += inputs[1].data[i];
      }
      return std::vector<Reference>{sum};
    };
    OpCase op_case{.name = ::testing::PrintToString(s_),
                   .op = "embedding_grad",
                   .attributes = {{"rows", s_.vocabulary}},
                   .inputs = {tokens_, {.type = dy()}, {.type = table_, .absent = !has_acc}},
                   .reference = reference,
                   .check_gradient = false,
                   .flops = elements_};
    op_case.bytes_read = 4 * count_ + (has_acc ? 2 : 1) * count_ * row_bytes_;
    op_case.bytes_written = has_acc ? count_ * row_bytes_ : table_.bytes();
    check_op_case(embedding_ops(), op_case);
  }
}

TEST_P(Embedding, PositionGradientMatchesReference) {
  const int64_t rows = std::max(s_.positions, length_);
  const ValueType table{DType::f32, {rows, s_.columns}};
  for (const bool has_acc : {false, true}) {
    const auto reference = [&](const Attributes&, const std::vector<Reference>& inputs) {
      Reference sum{table, inputs[1].data};
      sum.data.resize(static_cast<size_t>(table.shape.elements()));
      const size_t each = static_cast<size_t>(length_ * s_.columns);
      for (size_t i = 0; i < inputs[0].data.size(); ++i) sum.data[i % each] += inputs[0].data[i];
      return std::vector<Reference>{sum};
    };
    OpCase op_case{.name = ::testing::PrintToString(s_),
                   .op = "position_grad",
                   .attributes = {{"rows", rows}},
                   .inputs = {{.type = dy()}, {.type = table, .absent = !has_acc}},
                   .reference = reference,
                   .check_gradient = false,
                   .flops = elements_};
    op_case.bytes_read = dy().bytes() + (has_acc ? length_ * row_bytes_ : 0);
    op_case.bytes_written = has_acc ? length_ * row_bytes_ : table.bytes();
    check_op_case(embedding_ops(), op_case);
  }
}

INSTANTIATE_TEST_SUITE_P(All, Embedding,
                         ::testing::Values(Sizes{{1}, 1, 1, 0}, Sizes{{1, 1}, 3, 5, 1}, Sizes{{2, 3}, 4, 17, 5},
                                           Sizes{{3, 8}, 2, 6, 8}, Sizes{{2, 2, 3}, 7, 3, 0},
                                           Sizes{{4, 33}, 100, 130, 40}));

std::string refusal(Shape positions) {
  const std::optional<ValueType> types[] = {ValueType{DType::i32, {2, 6}}, ValueType{DType::f32, {10, 4}},
                                            ValueType{DType::f32, positions}};
  const Attributes none;
  try {
    embedding_ops().table().find("embedding").outputs({none, types});
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

TEST(EmbeddingRule, RefusesTooFewPositions) {
  EXPECT_EQ(refusal({5, 4}), "op 'embedding', operand 'positions': wanted at least [6,4], given f32[5,4]");
  EXPECT_EQ(refusal({6, 3}), "op 'embedding', operand 'positions': wanted at least [6,4], given f32[6,3]");
  EXPECT_EQ(refusal({6, 4}), "accepted");
}

}  // namespace
}  // namespace tidemark::ops
