// What the tests of batch normalization share.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops {

inline constexpr double kNormTestEps = 1e-3;

// The ops of batch normalization, and what they are put together from or differentiate with: add, relu, relu_grad.
OpSet batch_norm_ops();

// The rows of x [B,..,C], by group.
struct NormRows {
  NormRows(const Shape& x, int64_t group);
  int64_t per_sample, channels, samples, groups;
  int64_t begin(int64_t g, int64_t group) const { return g * group * per_sample; }
  int64_t end(int64_t g, int64_t group) const;
};

// y, mean and rstd from x, gamma, beta and, if there is a fourth, the residual.
std::vector<testing::Reference> batch_norm_reference(const Attributes& attributes,
                                                     const std::vector<testing::Reference>& in);

// batch_norm of x, normally distributed about `mean` with deviation 2, in groups of `group` samples.
testing::OpCase batch_norm_case(const Shape& x, int64_t group, bool relu, double mean = 0.5);

// The outputs of the op's first kernel as float arrays. Inputs: floats of `types`; an absent one has neither.
std::vector<std::vector<float>> run_kernel_of(const OpSet& ops, const std::string& op, const Attributes& attributes,
                                              const std::vector<std::optional<ValueType>>& types,
                                              const std::vector<const float*>& inputs, int threads = 1);

// A test failure unless the op's shape rule throws Error with exactly this message.
void expect_norm_refused(const std::string& op, const Attributes& attributes,
                         const std::vector<std::optional<ValueType>>& types, const char* message);

}  // namespace tidemark::ops
