#include "ops/conv2d/conv2d.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/reduce/reduce.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet conv2d_ops() {
  OpSet ops;
  ops.add(conv2d_op());
  ops.add(conv2d_grad_input_op());
  ops.add(conv2d_grad_weight_op());
  ops.add(sum_leading_op());
  return ops;
}

struct Window {
  int64_t stride, pad;
};

// Calls visit(x index, w index, y index) for every product that enters y.
void for_each_product(const Shape& x, const Shape& w, const Shape& y, Window window, auto visit) {
  for (int64_t b = 0; b < y[0]; ++b)
    for (int64_t i = 0; i < y[1]; ++i)
      for (int64_t j = 0; j < y[2]; ++j)
        for (int64_t o = 0; o < y[3]; ++o)
          for (int64_t p = 0; p < w[2]; ++p)
            for (int64_t q = 0; q < w[3]; ++q) {
              const int64_t row = i * window.stride + p - window.pad, column = j * window.stride + q - window.pad;
              if (row < 0 || row >= x[1] || column < 0 || column >= x[2]) continue;
              for (int64_t c = 0; c < x[3]; ++c) {
                visit(((b * x[1] + row) * x[2] + column) * x[3] + c, ((o * w[1] + c) * w[2] + p) * w[3] + q,
                      ((b * y[1] + i) * y[2] + j) * y[3] + o);
              }
            }
}

struct Images {
  Shape x, w;
  Window window;

  Shape y() const {
    const int64_t height = (x[1] + 2 * window.pad - w[2]) / window.stride + 1;
    return {x[0], height, (x[2] + 2 * window.pad - w[3]) / window.stride + 1, w[0]};
  }
  Attributes attributes() const { return {{"stride", window.stride}, {"pad", window.pad}}; }
  double flops() const { return 2.0 * static_cast<double>(y().elements() * x[3] * w[2] * w[3]); }
};

Reference zeros(const Shape& shape) {
  return {{DType::f32, shape}, std::vector<double>(static_cast<size_t>(shape.elements()))};
}

OpCase forward_case(const Images& images, bool bias) {
  OpCase op_case{.name = "conv2d " + to_string(images.x) + " " + to_string(images.w),
                 .op = "conv2d",
                 .attributes = images.attributes(),
                 .inputs = {{.type = {DType::f32, images.x}}, {.type = {DType::f32, images.w}, .stddev = 0.3}}};
  if (bias) op_case.inputs.push_back({.type = {DType::f32, {images.w[0]}}});
  op_case.flops = images.flops() + (bias ? static_cast<double>(images.y().elements()) : 0);
  op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference y = zeros(images.y());
    for (size_t i = 0; bias && i < y.data.size(); ++i) y.data[i] = in[2].data[i % in[2].data.size()];
    for_each_product(images.x, images.w, images.y(), images.window,
                     [&](int64_t x, int64_t w, int64_t at) { y.data[at] += in[0].data[x] * in[1].data[w]; });
    return std::vector<Reference>{y};
  };
  return op_case;
}

OpCase grad_input_case(const Images& images) {
  OpCase op_case{.name = "conv2d_grad_input " + to_string(images.x) + " " + to_string(images.w),
                 .op = "conv2d_grad_input",
                 .attributes = images.attributes(),
                 .inputs = {{.type = {DType::f32, images.y()}}, {.type = {DType::f32, images.w}, .stddev = 0.3}},
                 .check_gradient = false,
                 .flops = images.flops()};
  op_case.attributes.set("x_shape", images.x.dims());
  op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference dx = zeros(images.x);
    for_each_product(images.x, images.w, images.y(), images.window,
                     [&](int64_t x, int64_t w, int64_t y) { dx.data[x] += in[0].data[y] * in[1].data[w]; });
    return std::vector<Reference>{dx};
  };
  return op_case;
}

OpCase grad_weight_case(const Images& images, bool accumulate) {
  OpCase op_case{.name = "conv2d_grad_weight " + to_string(images.x) + " " + to_string(images.w),
                 .op = "conv2d_grad_weight",
                 .attributes = images.attributes(),
                 .inputs = {{.type = {DType::f32, images.x}},
                            {.type = {DType::f32, images.y()}},
                            {.type = {DType::f32, images.w}, .absent = !accumulate}},
                 .tolerance = 1e-4,  // sums of up to 1568 terms in float
                 .check_gradient = false,
                 .flops = images.flops()};
  op_case.attributes.set("w_shape", images.w.dims());
  op_case.reference = [=](const Attributes&, const std::vector<Reference>& in) {
    Reference dw = accumulate ? in[2] : zeros(images.w);
    for_each_product(images.x, images.w, images.y(), images.window,
                     [&](int64_t x, int64_t w, int64_t y) { dw.data[w] += in[0].data[x] * in[1].data[y]; });
    return std::vector<Reference>{dw};
  };
  return op_case;
}

class Conv2dImages : public ::testing::TestWithParam<Images> {};

TEST_P(Conv2dImages, EveryDirectionMatchesReference) {
  for (bool more : {false, true}) {
    OpCase op_case = forward_case(GetParam(), more);
    op_case.check_gradient = false;  // below, on images small enough for finite differences
    check_op_case(conv2d_ops(), op_case);
    check_op_case(conv2d_ops(), grad_weight_case(GetParam(), more));
  }
  check_op_case(conv2d_ops(), grad_input_case(GetParam()));
}

// The layers of a residual net on 28 x 28 images, and shapes that fill no block.
INSTANTIATE_TEST_SUITE_P(
    All, Conv2dImages,
    ::testing::Values(Images{{2, 28, 28, 1}, {16, 1, 3, 3}, {1, 1}}, Images{{3, 14, 14, 16}, {32, 16, 3, 3}, {2, 1}},
                      Images{{2, 14, 14, 16}, {32, 16, 1, 1}, {2, 0}}, Images{{1, 7, 7, 64}, {64, 64, 3, 3}, {1, 1}},
                      Images{{2, 9, 6, 3}, {7, 3, 3, 3}, {1, 1}}, Images{{1, 5, 5, 17}, {19, 17, 1, 1}, {1, 0}},
                      Images{{1, 8, 9, 2}, {3, 2, 5, 3}, {3, 2}}, Images{{2, 4, 4, 5}, {1, 5, 4, 4}, {1, 0}},
                      Images{{1, 28, 28, 8}, {16, 8, 1, 1}, {2, 0}}, Images{{2, 28, 28, 3}, {16, 3, 3, 3}, {1, 1}},
                      Images{{2, 7, 7, 17}, {17, 17, 3, 3}, {1, 1}}, Images{{1, 7, 9, 32}, {33, 32, 3, 3}, {2, 1}},
                      Images{{1, 7, 7, 33}, {16, 33, 3, 3}, {1, 1}}));

TEST(Conv2d, GradientsMatchFiniteDifferences) {
  check_op_case(conv2d_ops(), forward_case({{2, 5, 4, 2}, {3, 2, 3, 3}, {1, 1}}, true));
  check_op_case(conv2d_ops(), forward_case({{1, 6, 6, 3}, {4, 3, 3, 3}, {2, 1}}, false));
  check_op_case(conv2d_ops(), forward_case({{3, 4, 4, 1}, {5, 1, 1, 1}, {2, 0}}, true));
}

void expect_refused(const Attributes& attributes, const Shape& x, const Shape& w, const char* message) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, x}, ValueType{DType::f32, w}};
  try {
    conv2d_ops().table().find("conv2d").outputs({attributes, types});
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), message);
  }
}

TEST(Conv2d, RefusesWhatDoesNotFit) {
  expect_refused({}, {2, 8, 8}, {4, 3, 3, 3}, "op 'conv2d', operand 'x': wanted [B,H,W,C], given [2,8,8]");
  expect_refused({}, {2, 8, 8, 2}, {4, 3, 3, 3}, "op 'conv2d', operand 'w': wanted [O,2,KH,KW], given [4,3,3,3]");
  expect_refused({{"pad", int64_t{1}}}, {2, 8, 2, 3}, {4, 3, 3, 5},
                 "op 'conv2d', operand 'w': wanted a window of at most 4 (image and padding), given 5");
  expect_refused({{"stride", int64_t{0}}}, {2, 8, 8, 3}, {4, 3, 3, 3},
                 "op 'conv2d': wanted stride >= 1 and pad >= 0, given stride 0, pad 0");
}

}  // namespace
}  // namespace tidemark::ops
