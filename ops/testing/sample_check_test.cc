// The check must be able to fail: one op with samples and a sum, whose rule and kernel can each be broken.
#include "ops/testing/sample_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/op_rules.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string fault(const OpCall& call) { return call.attributes.text_or("fault", ""); }

// halves(x [B,C], acc? [C]) {group?} -> y [B,C] = x / 2, sum [C] = acc + the sum of y over B.
class HalvesOp : public Op {
 public:
  std::string_view name() const override { return "halves"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    return {{.type = call.input(0), .may_share = {0}},
            {.type = {DType::f32, {call.input(0).shape.dim(-1)}}, .suffix = "sum", .overwrites = 1}};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    SampleRule rule{.inputs = {0}, .outputs = {0}, .sums = {{1, 1}}, .group = call.attributes.integer_or("group", 0)};
    const std::string wrong = fault(call);
    if (wrong == "nothing_promised") return std::nullopt;
    if (wrong == "no_samples") rule.inputs.clear();
    if (wrong == "unknown_input") rule.inputs.push_back(99);
    if (wrong == "output_left_out") rule.outputs.clear();
    if (wrong == "output_twice") rule.outputs.push_back(1);
    if (wrong == "loose_sum") rule.sums[0].accumulator.reset();
    return rule;
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 1); }
};

class HalvesKernel : public Kernel {
 public:
  explicit HalvesKernel(const OpCall& call)
      : fault_(fault(call)),
        rows_(call.input(0).shape.dim(0)),
        columns_(call.input(0).shape.dim(-1)),
        group_(call.attributes.integer_or("group", 0)),
        has_acc_(call.has(1)) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* y = static_cast<float*>(args.outputs[0]);
    float* out = static_cast<float*>(args.outputs[1]);
    for (int64_t c = 0; c < columns_; ++c) {
      const bool takes_acc = has_acc_ && fault_ != "forgets_acc";
      float total = takes_acc ? static_cast<const float*>(args.inputs[1])[c] : 0.0F;
      double group = 0;
      for (int64_t row = 0; row < rows_; ++row) {
        float& value = y[row * columns_ + c];
        value = x[row * columns_ + c] / 2 + (fault_ == "hangs_on_rows" ? 1e-4F * static_cast<float>(rows_) : 0.0F);
        group += value;
        const bool is_rounded = group_ > 0 && fault_ != "rounds_late" && (row + 1) % group_ == 0;
        if (!is_rounded && row + 1 < rows_) continue;
        total += static_cast<float>(group);
        group = 0;
      }
      out[c] = total;
    }
  }

 private:
  const std::string fault_;
  const int64_t rows_, columns_, group_;
  const bool has_acc_;
};

std::unique_ptr<Kernel> make_halves(const KernelRequest& request, std::string& why_not) {
  if (fault(request.call) == "takes_one_size" && request.call.input(0).shape.dim(0) != 7) why_not = "seven only";
  return why_not.empty() ? std::make_unique<HalvesKernel>(request.call) : nullptr;
}

std::vector<std::string> faults(const std::string& wrong, bool with_acc, int64_t group = 0) {
  const HalvesOp op;
  const KernelEntry entry{"cpu:halves", KernelDevice::cpu, make_halves};
  KernelCall call{&op, {{"fault", wrong}}, {ValueType{DType::f32, {7, 3}}}, {std::vector<std::byte>(7 * 3 * 4)}};
  if (group > 0) call.attributes.set("group", group);
  float* x = reinterpret_cast<float*>(call.inputs[0].data());
  for (int i = 0; i < 7 * 3; ++i) x[i] = 1.0F / static_cast<float>(i + 3);
  if (with_acc) {
    call.types.push_back(ValueType{DType::f32, {3}});
    call.inputs.emplace_back(3 * 4, std::byte{0x3F});
  }
  std::string why_not;
  const auto kernel = entry.make({call.op_call(), 1}, why_not);
  return sample_faults(entry, call, run_kernel(*kernel, call, Placement{}).outputs, 1);
}

TEST(SampleCheck, FindsNothingWrongWithARightOp) {
  for (const bool with_acc : {false, true})
    for (const int64_t group : {0, 1, 2, 3}) EXPECT_THAT(faults("", with_acc, group), IsEmpty()) << group;
}

TEST(SampleCheck, ChecksNothingWhereNothingIsPromised) {
  EXPECT_THAT(faults("nothing_promised", true), IsEmpty());
  EXPECT_THAT(faults("no_samples", true), IsEmpty());
  EXPECT_THAT(faults("takes_one_size", true), IsEmpty());
}

TEST(SampleCheck, FindsEachBrokenPromise) {
  const auto finds = [](const std::string& text) { return Contains(HasSubstr(text)); };
  EXPECT_THAT(faults("unknown_input", false), finds("the rule names input 99"));
  EXPECT_THAT(faults("output_left_out", false), finds("does not name every output once"));
  EXPECT_THAT(faults("output_twice", false), finds("does not name every output once"));
  EXPECT_THAT(faults("hangs_on_rows", false), finds("3 of 7 at once: output 0 is not bit-equal to the whole's"));
  EXPECT_THAT(faults("forgets_acc", false, 2), finds("2 of 7 at once: output 1 is not bit-equal to the whole's"));
  EXPECT_THAT(faults("rounds_late", false, 2), finds("output 1 is not bit-equal to the whole's"));
}

// A sum that is added up by the caller of the slices ("loose") is none where the op has it start at an accumulator.
TEST(SampleCheck, FindsASumThatIsCountedTwice) {
  EXPECT_THAT(faults("loose_sum", false), IsEmpty());
  EXPECT_THAT(faults("loose_sum", true, 2), Contains(HasSubstr("output 1 is not bit-equal")));
}

}  // namespace
}  // namespace tidemark::ops::testing
