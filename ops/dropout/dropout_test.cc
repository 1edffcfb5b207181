#include "ops/dropout/dropout.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "base/philox.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet dropout_ops() {
  OpSet ops;
  ops.add(dropout_op());
  return ops;
}

// Written from the contract, element by element.
std::vector<Reference> dropout(const Attributes& attributes, const std::vector<Reference>& inputs) {
  const float p = static_cast<float>(attributes.real("p"));
  const size_t samples = inputs[1].data.size(), each = inputs[0].data.size() / samples;
  Reference y = inputs[0];
  for (size_t i = 0; i < y.data.size(); ++i) {
    const RandomSite site{static_cast<uint64_t>(attributes.integer("seed")), static_cast<uint32_t>(inputs[2].data[0]),
                          static_cast<uint32_t>(inputs[1].data[i / each]),
                          static_cast<uint32_t>(attributes.integer("op_index"))};
    const size_t element = i % each;
    const uint32_t bits = random_block(site, static_cast<uint32_t>(element / 4)).word[element % 4];
    y.data[i] = uniform_float(bits) >= p ? y.data[i] / (1 - double{p}) : 0.0;
  }
  return {y};
}

OpCase dropout_case(Shape shape, double p) {
  OpCase op_case{.name = to_string(shape) + " p=" + std::to_string(p),
                 .op = "dropout",
                 .attributes = {{"p", p}, {"seed", int64_t{12345}}, {"op_index", int64_t{3}}},
                 .reference = dropout,
                 .tolerance = 1e-6,
                 .flops = 17.0 * static_cast<double>(shape.elements())};
  op_case.inputs = {{.type = {DType::f32, shape}},
                    {.type = {DType::i32, {shape[0]}}, .low = 0, .high = 1000},
                    {.type = {DType::i32, {2}}, .values = {17, 0}}};
  return op_case;
}

TEST(Dropout, MatchesReference) {
  for (const Shape& shape : {Shape{1}, Shape{3, 1}, Shape{2, 5, 7}, Shape{5, 64}, Shape{3, 4099}, Shape{2, 50, 100}}) {
    check_op_case(dropout_ops(), dropout_case(shape, 0.3));
  }
}

TEST(Dropout, ZeroProbabilityCopiesExactly) {
  OpCase op_case = dropout_case({3, 11}, 0.0);
  op_case.tolerance = 0;
  check_op_case(dropout_ops(), op_case);
}

std::vector<float> run_dropout(const std::vector<float>& x, std::vector<int32_t> ids, std::vector<int32_t> step) {
  const int64_t samples = static_cast<int64_t>(ids.size()), each = static_cast<int64_t>(x.size()) / samples;
  const OpCase op_case = dropout_case({samples, each}, 0.25);
  const std::optional<ValueType> types[] = {op_case.inputs[0].type, op_case.inputs[1].type, op_case.inputs[2].type};
  const OpSet ops = dropout_ops();
  const KernelChoice choice = ops.choose_kernel("dropout", KernelDevice::cpu, {{op_case.attributes, types}, 2});
  std::vector<float> y(x.size());
  const void* inputs[] = {x.data(), ids.data(), step.data()};
  void* outputs[] = {y.data()};
  choice.kernel->run({inputs, outputs});
  return y;
}

TEST(Dropout, MaskOfASampleHangsOnItsIdNotOnItsPlace) {
  const std::vector<float> ones(4 * 100, 1.0f);
  const std::vector<float> four = run_dropout(ones, {7, 8, 9, 10}, {1, 0});
  const std::vector<float> alone = run_dropout(std::vector<float>(100, 1.0f), {9}, {1, 0});
  EXPECT_EQ(std::vector<float>(four.begin() + 200, four.begin() + 300), alone);
  EXPECT_NE(std::vector<float>(four.begin(), four.begin() + 100), alone);
}

TEST(Dropout, MaskChangesWithEitherWordOfTheStep) {
  const std::vector<float> ones(200, 1.0f);
  EXPECT_NE(run_dropout(ones, {7}, {1, 0}), run_dropout(ones, {7}, {2, 0}));
  EXPECT_NE(run_dropout(ones, {7}, {1, 0}), run_dropout(ones, {7}, {1, 1}));
}

TEST(Dropout, ZerosAreAsFrequentAsAsked) {
  const std::vector<float> y = run_dropout(std::vector<float>(100000, 1.0f), {1, 2}, {5, 0});
  const auto zeros = static_cast<double>(std::count(y.begin(), y.end(), 0.0f));
  EXPECT_NEAR(zeros / 100000, 0.25, 4 * std::sqrt(0.25 * 0.75 / 100000));  // four standard deviations
}

TEST(Dropout, RefusesAProbabilityOfOne) {
  const OpCase op_case = dropout_case({2, 3}, 1.0);
  const std::optional<ValueType> types[] = {op_case.inputs[0].type, op_case.inputs[1].type, op_case.inputs[2].type};
  EXPECT_THROW(dropout_ops().table().find("dropout").outputs({op_case.attributes, types}), Error);
}

}  // namespace
}  // namespace tidemark::ops
