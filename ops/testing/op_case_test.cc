// The harness must be able to fail: one op whose kernel, gradient and declarations can each be broken by an attribute.
#include "ops/testing/op_case.h"

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <cstring>

#include "graph/autodiff.h"
#include "ops/op_rules.h"

namespace tidemark::ops::testing {
namespace {

// twice(x, acc?) -> 2x or, on acc, acc + 2x. Its gradient is another `twice`.
class TwiceOp : public Op {
 public:
  std::string_view name() const override { return "twice"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    OutputSpec spec{.type = call.input(0), .overwrites = 1, .may_share = {0}};
    if (fault(call.attributes) == "type") spec.type.shape = Shape{1};
    return {spec};
  }

  void gradient(GradientContext& context) const override {
    const std::string wrong = fault(context.forward().attributes);
    const ValueId dy = context.output_gradient(0);
    const ValueId sum = context.accumulator(0);
    Attributes attributes;
    if (wrong == "gradient") attributes.set("fault", "value");
    if (wrong == "accumulator") attributes.set("fault", "forgets_sum");
    const ValueId dx = context.emit("twice", "dx", {dy, sum}, attributes)[0];
    if (sum.valid()) {
      context.set_accumulated(0, dx);
    } else {
      context.add_gradient(0, dx);
    }
  }

  Cost cost(const OpCall& call) const override {
    Cost cost = operand_cost(*this, call, static_cast<double>(call.input(0).shape.elements()));
    if (fault(call.attributes) == "flops") cost.flops += 1;
    if (fault(call.attributes) == "bytes") cost.bytes_read -= 4;
    return cost;
  }

  static std::string fault(const Attributes& attributes) { return attributes.text_or("fault", ""); }
};

class TwiceKernel : public Kernel {
 public:
  TwiceKernel(const OpCall& call)
      : fault_(TwiceOp::fault(call.attributes)), count_(call.input(0).shape.elements()), has_acc_(call.has(1)) {}

  int64_t workspace_bytes() const override { return 4 * count_; }

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    const float* acc = has_acc_ && fault_ != "forgets_sum" ? static_cast<const float*>(args.inputs[1]) : nullptr;
    float* y = static_cast<float*>(args.outputs[0]);
    float* workspace = reinterpret_cast<float*>(args.workspace);
    if (fault_ == "sharing") std::memset(y, 0, static_cast<size_t>(4 * count_));
    const int64_t written = fault_ == "unwritten" ? count_ - 1 : count_;
    for (int64_t i = 0; i < written; ++i) y[i] = (acc ? acc[i] : 0.0f) + 2 * x[i];
    break_it(x, y, workspace);
  }

 private:
  void break_it(const float* x, float* y, float* workspace) const {
    if (fault_ == "past") reinterpret_cast<char*>(y + count_)[0] = 7;
    if (fault_ == "before") reinterpret_cast<char*>(y)[-1] = 7;
    if (fault_ == "workspace_past") workspace[count_] = 7;
    if (fault_ == "workspace_read") y[0] += 1e-30f * workspace[0];
    if (fault_ == "value") y[count_ / 2] += 0.01f;
    if (fault_ == "nan") y[count_ / 2] = __builtin_nanf("");
    if (fault_ == "address") y[0] *= 1 + 1e-6f * static_cast<float>((reinterpret_cast<uintptr_t>(y) / 64) % 8);
    if (fault_ == "state") y[0] *= 1 + 1e-6f * static_cast<float>(++runs_);
    if (fault_ == "input") const_cast<float*>(x)[0] += 1;
  }

  const std::string fault_;
  const int64_t count_;
  const bool has_acc_;
  mutable int runs_ = 0;
};

std::unique_ptr<Kernel> make_twice(const KernelRequest& request, std::string& why_not) {
  const std::string fault = TwiceOp::fault(request.call.attributes);
  if (fault == "refused") why_not = "not on a Monday";
  if (fault == "refused" || fault == "no_reason") return nullptr;
  return std::make_unique<TwiceKernel>(request.call);
}

// One part, which is right but for the faults that tests ask for.
std::vector<NodePart> split_twice(const OpCall& call) {
  const std::string wrong = TwiceOp::fault(call.attributes);
  if (wrong.rfind("part_", 0) != 0) return {};
  NodePart part{.op = "twice", .suffix = "", .attributes = {}, .inputs = {{false, 0}, {false, 1}}, .outputs = {0}};
  if (wrong == "part_bits") part.attributes.set("fault", "value");
  if (wrong == "part_missing") part.outputs.clear();
  if (wrong == "part_order") part.inputs[0] = {.of_outputs = true, .index = 0};
  return {part};
}

OpSet twice_ops() {
  OpSet ops;
  ops.add({std::make_unique<TwiceOp>(), {{"cpu:twice", KernelDevice::cpu, make_twice}}, split_twice});
  return ops;
}

OpCase twice_case(const std::string& fault = "") {
  const auto reference = [](const Attributes&, const std::vector<Reference>& inputs) {
    Reference y = inputs[0];
    for (size_t i = 0; i < y.data.size(); ++i)
      y.data[i] = 2 * y.data[i] + (inputs[1].data.empty() ? 0 : inputs[1].data[i]);
    return std::vector<Reference>{y};
  };
  OpCase op_case{.name = "twice", .op = "twice", .reference = reference, .flops = 15.0};
  op_case.inputs = {{.type = {DType::f32, {3, 5}}}, {.absent = true}};
  if (!fault.empty()) op_case.attributes.set("fault", fault);
  return op_case;
}

// The faults found, one a line.
std::string faults(const OpCase& op_case) {
  std::string text;
  for (const std::string& fault : op_case_faults(twice_ops(), op_case)) text += fault + "\n";
  return text;
}

TEST(OpCase, FindsNothingWrongWithARightOp) {
  EXPECT_EQ(faults(twice_case()), "");
  OpCase onto = twice_case();
  onto.inputs[1] = {.type = {DType::f32, {3, 5}}};
  onto.check_gradient = false;
  EXPECT_EQ(faults(onto), "");
}

TEST(OpCase, FaultsBecomeTestFailuresWithTheSeed) {
  EXPECT_NONFATAL_FAILURE(check_op_case(twice_ops(), twice_case("flops")), "twice case 'twice' (seed ");
}

struct Broken {
  std::string fault;
  std::string expected;  // part of what the harness says
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.fault; }

class BrokenOps : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenOps, AreFound) {
  const std::string found = faults(twice_case(GetParam().fault));
  EXPECT_NE(found.find(GetParam().expected), std::string::npos) << "found: " << found;
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenOps,
    ::testing::Values(Broken{"past", "output 0 after the run: byte 0 past its end was overwritten"},
                      Broken{"before", "output 0 after the run: byte -1 before its start was overwritten"},
                      Broken{"workspace_past", "the workspace after the run: byte 0 past its end was overwritten"},
                      Broken{"workspace_read", "output 0, element 0 of f32[3,5]: wanted"},
                      Broken{"value", "output 0, element 7 of f32[3,5]: wanted"}, Broken{"nan", ", got nan"},
                      Broken{"unwritten", "output 0, element 14 of f32[3,5]: wanted"},
                      Broken{"address", "output 0 is not bit-equal to the first run's: element 0"},
                      Broken{"state", "output 0 is not bit-equal to the first run's: element 0"},
                      Broken{"input", "input 0 was changed"},
                      Broken{"sharing", "output 0 on input 0: output 0 is not bit-equal"},
                      Broken{"type", "output 0 is f32[1], the reference gives f32[3,5]"},
                      Broken{"flops", "declares 16.000000 flops, wanted 15.000000"},
                      Broken{"bytes", "declares 56 bytes read, wanted 60"},
                      Broken{"refused", "no CPU kernel takes it; cpu:twice, 1 thread(s): not on a Monday"},
                      Broken{"no_reason", "refused without a reason"},
                      Broken{"part_bits", "split: cpu:twice: output 0 is not bit-equal to the whole's"},
                      Broken{"part_missing", "split: twice has another number of outputs"},
                      Broken{"part_order", "split: twice reads output 0, which no part before it gives"},
                      Broken{"gradient", "gradient (fresh, 1 thread(s)): input 0, of sampled elements: element"},
                      Broken{"accumulator", "gradient (onto accumulators, 2 thread(s)): "}));

TEST(OpCase, FindsNothingWrongWithARightSplit) { EXPECT_EQ(faults(twice_case("part_right")), ""); }

TEST(OpCase, FindsALossThatIsNotOne) {
  OpCase op_case = twice_case();
  op_case.inputs[0].differentiable = false;
  EXPECT_NE(faults(op_case).find("no input is differentiable"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::ops::testing
