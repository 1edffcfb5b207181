#include "framework/models/lstm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "framework/models/model_keys.h"
#include "ops/all_ops.h"
#include "ops/testing/run_graph.h"

namespace tidemark::models {
namespace {

using ops::testing::ValueBytes;

// Samples in packed order: the longest first.
struct Packed {
  std::vector<std::vector<int32_t>> lines;  // tokens; the targets are the tokens plus 1
  std::vector<int32_t> ids;
};

data::DataInfo packed_text() {
  const ValueType number{DType::i32, Shape{}};
  return {.fields = {{"tokens", number, true}, {"targets", number, true}, {"lengths", number}},
          .classes = 20,
          .kind = "lines",
          .packed = true};
}

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Small, different everywhere, the same for a name.
std::vector<std::byte> parameter_bytes(const Value& value) {
  std::vector<float> values(static_cast<size_t>(value.type.shape.elements()));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = 0.4f * static_cast<float>(std::sin(3.7 * i + value.name.size()));
  return bytes_of(values);
}

class LstmModel : public ::testing::Test {
 protected:
  static Lstm model(double dropout) {
    Lstm model;
    Keys keys;
    keys.integers_by_name = {{"layers", 2}, {"width", 9}, {"embedding", 5}};
    keys.reals_by_name = {{"dropout", dropout}};
    model.fields(keys);
    return model;
  }

  // The sum of the negative log-likelihoods of all targets.
  float loss(const Lstm& lstm, const Packed& packed, bool training) const {
    const data::DataInfo data = packed_text();
    std::vector<int32_t> tokens, targets, lengths;
    for (size_t t = 0; t < packed.lines[0].size(); ++t)
      for (const auto& line : packed.lines)
        if (t < line.size()) tokens.push_back(line[t]), targets.push_back(line[t] + 1);
    for (const auto& line : packed.lines) lengths.push_back(static_cast<int32_t>(line.size()));

    Graph graph("body");
    ModelBuilder builder(graph, ops_.table());
    ValueBytes bytes;
    const auto input = [&](const char* name, const auto& values, DType dtype) {
      const ValueId id = builder.external(name, {dtype, Shape{static_cast<int64_t>(values.size())}}, Category::input,
                                          Scope::micro_batch);
      bytes[id] = bytes_of(values);
      return id;
    };
    ModelRequest request{.data = data,
                         .batch = static_cast<int64_t>(lengths.size()),
                         .rows = static_cast<int64_t>(tokens.size()),
                         .training = training,
                         .seed = 5};
    request.inputs = {input("tokens", tokens, DType::i32), input("targets", targets, DType::i32),
                      input("lengths", lengths, DType::i32)};
    request.sample_ids = input("ids", packed.ids, DType::i32);
    request.step_state = input("state", std::vector<int32_t>{3, 0}, DType::i32);
    request.loss_weight = input("weight", std::vector<float>{1}, DType::f32);
    const ValueId result = lstm.build(builder, request).loss;
    for (const Value& value : graph.values())
      if (value.external() && value.category == Category::weights) bytes[value.id] = parameter_bytes(value);
    float loss = 0;
    std::memcpy(&loss, ops::testing::run_graph(graph, ops_, bytes).at(result).data(), sizeof loss);
    return loss;
  }

  const ops::OpSet ops_ = ops::all_ops();
  const Packed all_{{{1, 2, 3, 4, 5}, {6, 7, 8, 9}, {6, 7, 8, 1}, {10}}, {2, 0, 3, 1}};
};

// Whoever else is in the batch changes nothing for a sample, dropout included: its draws hang on its id.
TEST_F(LstmModel, PackedSamplesDoNotSeeEachOther) {
  for (const double dropout : {0.0, 0.4}) {
    const Lstm lstm = model(dropout);
    double apart = 0;
    for (size_t i = 0; i < all_.lines.size(); ++i) apart += loss(lstm, {{all_.lines[i]}, {all_.ids[i]}}, true);
    EXPECT_NEAR(loss(lstm, all_, true), apart, 1e-5 * apart) << dropout;
  }
}

TEST_F(LstmModel, DropoutHangsOnTheSampleAndOnlyInTraining) {
  const Lstm lstm = model(0.4);
  Packed renumbered = all_;
  renumbered.ids = {2, 0, 3, 9};
  EXPECT_NE(loss(lstm, all_, true), loss(lstm, renumbered, true));
  EXPECT_EQ(loss(lstm, all_, false), loss(lstm, renumbered, false));
  EXPECT_EQ(loss(lstm, all_, false), loss(model(0), all_, true));
}

TEST_F(LstmModel, WhatCameBeforeCounts) {
  const Lstm lstm = model(0);
  const float two_words = loss(lstm, {{{1, 2, 3}}, {0}}, false) + loss(lstm, {{{4}}, {0}}, false);
  EXPECT_GT(std::abs(loss(lstm, {{{1, 2, 3, 4}}, {0}}, false) - two_words), 1e-3);
}

TEST_F(LstmModel, ProblemsAreNamed) {
  data::DataInfo text = packed_text();
  EXPECT_TRUE(model(0).problems(text).empty());
  Lstm small;
  Keys keys;
  keys.integers_by_name = {{"vocabulary", 19}};
  small.fields(keys);
  EXPECT_EQ(small.problems(text), (std::vector<std::string>{"model.vocabulary 19 is smaller than the data's 20"}));
  text.packed = false;
  text.kind = "text";
  EXPECT_EQ(small.problems(text), (std::vector<std::string>{"model.kind lstm needs data kind lines, not 'text'"}));
}

TEST_F(LstmModel, CountsItsParameters) {
  const data::DataInfo data = packed_text();
  Graph graph("body");
  ModelBuilder builder(graph, ops_.table());
  ModelRequest request{.data = data, .batch = 2, .rows = 3};
  for (int64_t count : {3, 3, 2})
    request.inputs.push_back(builder.external("input" + std::to_string(request.inputs.size()),
                                              {DType::i32, Shape{count}}, Category::input, Scope::micro_batch));
  request.loss_weight = builder.external("weight", {DType::f32, Shape{1}}, Category::input, Scope::step);
  model(0).build(builder, request);
  int64_t count = 0;
  for (const Value& value : graph.values())
    if (value.external() && value.category == Category::weights) count += value.type.shape.elements();
  const int64_t first = 36 * 5 + 36 + 36 * 9, second = 36 * 9 + 36 + 36 * 9;
  EXPECT_EQ(count, 64 * 5 + first + second + 64 * 9) << "20 classes are padded to 64 rows";
}

}  // namespace
}  // namespace tidemark::models
