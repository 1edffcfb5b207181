#include "ops/pool2d/pool2d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet pool_ops() {
  OpSet ops;
  ops.add(global_avg_pool2d_op());
  ops.add(global_avg_pool2d_grad_op());
  ops.add(max_pool2d_op());
  ops.add(max_pool2d_grad_op());
  return ops;
}

struct Pooling {
  Shape x;
  int64_t window, stride, pad;

  Shape y() const {
    const int64_t height = (x[1] + 2 * pad - window) / stride + 1, width = (x[2] + 2 * pad - window) / stride + 1;
    return {x[0], height, width, x[3]};
  }
  Attributes attributes() const { return {{"kernel", window}, {"stride", stride}, {"pad", pad}}; }
  double flops() const { return static_cast<double>(y().elements() * window * window); }
};

// Calls visit(y index, place in the window, x index) for every pair of output and input, windows in order.
void for_each_pair(const Pooling& p, auto visit) {
  const Shape y = p.y();
  for (int64_t at = 0; at < y.elements(); ++at) {
    const int64_t c = at % y[3], j = at / y[3] % y[2], i = at / y[3] / y[2] % y[1], b = at / y[3] / y[2] / y[1];
    for (int64_t place = 0; place < p.window * p.window; ++place) {
      const int64_t row = i * p.stride - p.pad + place / p.window, column = j * p.stride - p.pad + place % p.window;
      if (row < 0 || row >= p.x[1] || column < 0 || column >= p.x[2]) continue;
      visit(at, place, ((b * p.x[1] + row) * p.x[2] + column) * p.x[3] + c);
    }
  }
}

// All different and far apart, so that finite differences never change which one is the largest.
std::vector<double> distinct_values(int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) values[i] = 0.1 * static_cast<double>(i * 7919 % 10007 - 5000);
  return values;
}

OpCase max_case(const Pooling& p, std::vector<double> values) {
  return {.name = "max_pool2d " + to_string(p.x) + " window " + std::to_string(p.window),
          .op = "max_pool2d",
          .attributes = p.attributes(),
          .inputs = {{.type = {DType::f32, p.x}, .values = std::move(values)}},
          .reference =
              [p](const Attributes&, const std::vector<Reference>& in) {
                Reference y{{DType::f32, p.y()}, {}}, indices{{DType::u8, p.y()}, {}};
                y.data.assign(static_cast<size_t>(p.y().elements()), -1e300);
                indices.data.resize(y.data.size());
                for_each_pair(p, [&](int64_t at, int64_t place, int64_t from) {
                  if (in[0].data[from] <= y.data[at]) return;
                  y.data[at] = in[0].data[from], indices.data[at] = static_cast<double>(place);
                });
                return std::vector<Reference>{y, indices};
              },
          .tolerance = 0,
          .flops = p.flops()};
}

OpCase max_grad_case(const Pooling& p) {
  // The center of a window is never padding here.
  const int64_t center = p.window / 2 * p.window + p.window / 2;
  OpCase op_case{.name = "max_pool2d_grad " + to_string(p.x) + " window " + std::to_string(p.window),
                 .op = "max_pool2d_grad",
                 .attributes = p.attributes(),
                 .inputs = {{.type = {DType::f32, p.y()}}, {.type = {DType::u8, p.y()}}},
                 .reference =
                     [=](const Attributes&, const std::vector<Reference>& in) {
                       Reference dx{{DType::f32, p.x}, std::vector<double>(static_cast<size_t>(p.x.elements()))};
                       for_each_pair(p, [&](int64_t at, int64_t place, int64_t to) {
                         if (static_cast<double>(place) == in[1].data[at]) dx.data[to] += in[0].data[at];
                       });
                       return std::vector<Reference>{dx};
                     },
                 .check_gradient = false,
                 .flops = p.flops()};
  op_case.inputs[1].values.assign(static_cast<size_t>(p.y().elements()), static_cast<double>(center));
  for (size_t i = 0; i < op_case.inputs[1].values.size(); i += 3) op_case.inputs[1].values[i] = 0;
  op_case.attributes.set("x_shape", p.x.dims());
  return op_case;
}

const Pooling kPoolings[] = {{{2, 6, 6, 16}, 2, 2, 0}, {{1, 7, 5, 3}, 3, 2, 1},  {{3, 4, 4, 1}, 4, 1, 0},
                             {{1, 1, 1, 33}, 1, 1, 0}, {{2, 9, 8, 17}, 3, 1, 1}, {{1, 16, 16, 2}, 16, 16, 0}};

TEST(MaxPool2d, MatchesReference) {
  for (const Pooling& p : kPoolings) check_op_case(pool_ops(), max_case(p, distinct_values(p.x.elements())));
}

TEST(MaxPool2d, GradientMatchesReference) {
  for (const Pooling& p : kPoolings) check_op_case(pool_ops(), max_grad_case(p));
}

TEST(MaxPool2d, OfEqualValuesTheFirstIsTaken) {
  const Pooling p{{1, 4, 4, 5}, 2, 2, 0};
  OpCase op_case = max_case(p, std::vector<double>(80, -3.0));
  op_case.check_gradient = false;
  check_op_case(pool_ops(), op_case);
}

TEST(MaxPool2d, NanIsTheLargest) {
  const OpSet ops = pool_ops();
  const Pooling p{{1, 2, 2, 2}, 2, 2, 0};
  const std::optional<ValueType> types[] = {ValueType{DType::f32, p.x}};
  const Attributes attributes = p.attributes();
  const KernelChoice choice = ops.choose_kernel("max_pool2d", KernelDevice::cpu, {{attributes, types}, 1});
  const float x[] = {1, 5, std::numeric_limits<float>::quiet_NaN(), 6, 9, 2, 3, 4};
  float y[2];
  uint8_t indices[2];
  const void* inputs[] = {x};
  void* outputs[] = {y, indices};
  choice.kernel->run({.inputs = inputs, .outputs = outputs});
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(indices[0], 1);
  EXPECT_EQ(y[1], 6);
  EXPECT_EQ(indices[1], 1);
}

TEST(GlobalAvgPool2d, MatchesReference) {
  for (const Shape& x : {Shape{3, 7, 7, 64}, Shape{1, 1, 1, 1}, Shape{2, 3, 5, 19}}) {
    const int64_t spatial = x[1] * x[2], channels = x[3];
    OpCase op_case{.name = "global_avg_pool2d " + to_string(x),
                   .op = "global_avg_pool2d",
                   .inputs = {{.type = {DType::f32, x}}},
                   .check_gradient = x.elements() < 1000,
                   .flops = static_cast<double>(x.elements())};
    op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
      Reference y{{DType::f32, {x[0], channels}}, std::vector<double>(static_cast<size_t>(x[0] * channels))};
      for (int64_t i = 0; i < x.elements(); ++i) {
        y.data[i / channels / spatial * channels + i % channels] += in[0].data[i] / static_cast<double>(spatial);
      }
      return std::vector<Reference>{y};
    };
    check_op_case(pool_ops(), op_case);
  }
}

void expect_refused(const Pooling& p, const char* message) {
  const OpSet ops = pool_ops();
  const std::optional<ValueType> types[] = {ValueType{DType::f32, p.x}};
  const Attributes attributes = p.attributes();
  try {
    ops.table().find("max_pool2d").outputs({attributes, types});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(MaxPool2d, RefusesWhatDoesNotFit) {
  expect_refused({{2, 8, 8}, 2, 2, 0}, "op 'max_pool2d', operand 'x': wanted [B,H,W,C], not empty, given [2,8,8]");
  expect_refused({{2, 8, 8, 1}, 17, 2, 0},
                 "op 'max_pool2d': wanted 1 <= kernel <= 16, stride >= 1, 0 <= pad < kernel and a window inside image "
                 "and padding, given kernel 17, stride 2, pad 0 on [2,8,8,1]");
  expect_refused({{2, 8, 2, 1}, 3, 1, 0},
                 "op 'max_pool2d': wanted 1 <= kernel <= 16, stride >= 1, 0 <= pad < kernel and a window inside image "
                 "and padding, given kernel 3, stride 1, pad 0 on [2,8,2,1]");
}

}  // namespace
}  // namespace tidemark::ops
