#include "ops/attention/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "base/error.h"
#include "ops/add/add.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;
using testing::Reference;

OpSet attention_ops() {
  OpSet ops;
  ops.add(add_op());
  ops.add(add_into_op());  // for accumulators
  ops.add(attention_op());
  ops.add(attention_grad_op());
  return ops;
}

struct Case {
  std::string name;
  int64_t batch, length, heads, head_dim;
  bool causal = true;
  double stddev = 1;

  Attributes attributes() const { return {{"heads", heads}, {"causal", causal}}; }
  int64_t channels() const { return heads * head_dim; }
  ValueType qkv() const { return {DType::f32, {batch, length, 3 * channels()}}; }
  ValueType out() const { return {DType::f32, {batch, length, channels()}}; }
  ValueType lse() const { return {DType::f32, {batch, heads, length}}; }
  double scores() const { return batch * (causal ? length * (length + 1) / 2.0 : 1.0 * length * length); }
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

// The attention of one token and head: weights of the keys, and where things lie.
struct Token {
  int64_t b, h, i, seen;
  std::vector<double> p;
  double lse;
};

class Sequence {
 public:
  Sequence(const Case& c, const std::vector<double>& qkv) : c_(c), qkv_(qkv) {}

  // which: 0 query, 1 key, 2 value.
  size_t at(int which, int64_t b, int64_t h, int64_t i) const {
    return ((b * c_.length + i) * 3 + which) * c_.channels() + h * c_.head_dim;
  }
  size_t at_out(const Token& t) const { return (t.b * c_.length + t.i) * c_.channels() + t.h * c_.head_dim; }
  double scale() const { return 1 / std::sqrt(static_cast<double>(c_.head_dim)); }

  template <class Visit>
  void for_each_token(Visit visit) const {
    for (int64_t b = 0; b < c_.batch; ++b) {
      for (int64_t h = 0; h < c_.heads; ++h) {
        for (int64_t i = 0; i < c_.length; ++i) visit(token(b, h, i));
      }
    }
  }

 private:
  Token token(int64_t b, int64_t h, int64_t i) const {
    Token t{b, h, i, c_.causal ? i + 1 : c_.length, {}, 0};
    for (int64_t j = 0; j < t.seen; ++j) {
      double score = 0;
      for (int64_t d = 0; d < c_.head_dim; ++d) score += qkv_[at(0, b, h, i) + d] * qkv_[at(1, b, h, j) + d];
      t.p.push_back(score * scale());
    }
    const double most = *std::max_element(t.p.begin(), t.p.end());
    double sum = 0;
    for (double& p : t.p) sum += p = std::exp(p - most);
    for (double& p : t.p) p /= sum;
    t.lse = most + std::log(sum);
    return t;
  }

  const Case& c_;
  const std::vector<double>& qkv_;
};

std::vector<Reference> forward(const Case& c, const std::vector<double>& qkv) {
  const Sequence sequence(c, qkv);
  Reference out{c.out(), std::vector<double>(c.out().shape.elements())}, lse{c.lse(), {}};
  sequence.for_each_token([&](const Token& t) {
    lse.data.push_back(t.lse);
    for (int64_t j = 0; j < t.seen; ++j) {
      for (int64_t d = 0; d < c.head_dim; ++d) {
        out.data[sequence.at_out(t) + d] += t.p[j] * qkv[sequence.at(2, t.b, t.h, j) + d];
      }
    }
  });
  return {out, lse};
}

std::vector<double> backward(const Case& c, const std::vector<double>& qkv, const std::vector<double>& dout) {
  const Sequence sequence(c, qkv);
  std::vector<double> dqkv(qkv.size());
  sequence.for_each_token([&](const Token& t) {
    const size_t query = sequence.at(0, t.b, t.h, t.i), at_out = sequence.at_out(t);
    std::vector<double> dp(t.seen);
    double delta = 0;
    for (int64_t j = 0; j < t.seen; ++j) {
      const size_t value = sequence.at(2, t.b, t.h, j);
      for (int64_t d = 0; d < c.head_dim; ++d) {
        dp[j] += dout[at_out + d] * qkv[value + d];
        dqkv[value + d] += t.p[j] * dout[at_out + d];
      }
      delta += t.p[j] * dp[j];
    }
    for (int64_t j = 0; j < t.seen; ++j) {
      const size_t key = sequence.at(1, t.b, t.h, j);
      const double ds = t.p[j] * (dp[j] - delta) * sequence.scale();
      for (int64_t d = 0; d < c.head_dim; ++d) {
        dqkv[query + d] += ds * qkv[key + d];
        dqkv[key + d] += ds * qkv[query + d];
      }
    }
  });
  return dqkv;
}

// Values that a kernel gets as f32.
std::vector<double> drawn(int64_t count, double stddev) {
  std::vector<double> values(count);
  uint32_t state = 12345;
  for (double& value : values) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += (state = state * 1664525u + 1013904223u) / 4294967296.0;
    value = static_cast<float>(sum * stddev);
  }
  return values;
}

std::vector<double> as_floats(std::vector<double> values) {
  for (double& value : values) value = static_cast<float>(value);
  return values;
}

class Attention : public ::testing::TestWithParam<Case> {};

TEST_P(Attention, MatchesReferenceAndHasItsGradient) {
  const Case& c = GetParam();
  testing::check_op_case(attention_ops(),
                         {.name = c.name,
                          .op = "attention",
                          .attributes = c.attributes(),
                          .inputs = {{.type = c.qkv(), .stddev = c.stddev}},
                          .reference = [&](const Attributes&, const auto& in) { return forward(c, in[0].data); },
                          .tolerance = 1e-5 * c.stddev * c.stddev,
                          .check_gradient = c.length * c.channels() <= 256,
                          .flops = c.scores() * c.heads * (4.0 * c.head_dim + 4)});
}

// Every element of the gradient against its formula in double; the difference quotients above vouch for the formula.
TEST_P(Attention, GradientMatchesReference) {
  const Case& c = GetParam();
  const std::vector<double> qkv = drawn(c.qkv().shape.elements(), c.stddev);
  const std::vector<Reference> saved = forward(c, qkv);
  testing::check_op_case(attention_ops(),
                         {.name = c.name,
                          .op = "attention_grad",
                          .attributes = c.attributes(),
                          .inputs = {{.type = c.qkv(), .values = qkv},
                                     {.type = c.out(), .values = as_floats(saved[0].data)},
                                     {.type = c.lse(), .values = as_floats(saved[1].data)},
                                     {.type = c.out()}},
                          .reference =
                              [&](const Attributes&, const auto& in) {
                                return std::vector<Reference>{{c.qkv(), backward(c, in[0].data, in[3].data)}};
                              },
                          .tolerance = 3e-5 * c.stddev * c.stddev,
                          .check_gradient = false,
                          .flops = c.scores() * c.heads * (10.0 * c.head_dim + 6)});
}

INSTANTIATE_TEST_SUITE_P(All, Attention,
                         ::testing::Values(Case{"one token", 1, 1, 1, 1}, Case{"head of five", 2, 9, 2, 5},
                                           Case{"one key more", 1, 65, 1, 3}, Case{"odd length", 1, 71, 2, 20},
                                           Case{"three blocks", 2, 150, 1, 64}, Case{"wide head", 1, 67, 1, 80},
                                           Case{"whole blocks", 1, 128, 3, 16}, Case{"all keys", 2, 7, 2, 6, false},
                                           Case{"all keys, two blocks", 1, 77, 1, 18, false},
                                           Case{"large scores", 1, 70, 1, 8, true, 6}),
                         [](const auto& info) { return "Case" + std::to_string(info.index); });

std::vector<float> output_with(int threads, const Case& c, const std::vector<float>& qkv) {
  const OpSet ops = attention_ops();
  const std::optional<ValueType> types[] = {c.qkv()};
  const Attributes attributes = c.attributes();
  const auto choice = ops.choose_kernel("attention", KernelDevice::cpu, {{attributes, types}, threads});
  std::vector<float> out(c.out().shape.elements()), lse(c.lse().shape.elements());
  std::vector<std::byte> workspace(choice.kernel->workspace_bytes() + 64);
  void* aligned = workspace.data();
  size_t space = workspace.size();
  std::align(64, space - 64, aligned, space);
  const void* inputs[] = {qkv.data()};
  void* outputs[] = {out.data(), lse.data()};
  choice.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = static_cast<std::byte*>(aligned)});
  return out;
}

TEST(Attention, SameBitsWithAnyNumberOfThreads) {
  const Case c{"threads", 2, 70, 3, 7};
  const std::vector<double> drawn_qkv = drawn(c.qkv().shape.elements(), 1);
  const std::vector<float> qkv(drawn_qkv.begin(), drawn_qkv.end());
  const std::vector<float> one = output_with(1, c, qkv);
  for (const int threads : {2, 4, 9}) EXPECT_EQ(output_with(threads, c, qkv), one) << threads;
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  const OpSet ops = attention_ops();
  const auto message = [&](Shape qkv, int64_t heads) -> std::string {
    const std::optional<ValueType> types[] = {ValueType{DType::f32, qkv}};
    const Attributes attributes{{"heads", heads}};
    try {
      ops.table().find("attention").outputs({attributes, types});
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  EXPECT_EQ(message({2, 3, 24}, 4), "accepted");
  EXPECT_EQ(
      message({2, 3, 24}, 3),
      "op 'attention', operand 'qkv': wanted [batch,length,3*channels] with channels a multiple of 3 heads, given "
      "f32[2,3,24]");
  EXPECT_EQ(message({2, 3, 24}, 0), "op 'attention', attribute 'heads': wanted at least 1, given 0");
}

}  // namespace
}  // namespace tidemark::ops
