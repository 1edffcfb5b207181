#include "ops/op_definition.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/sample_groups.h"

namespace tidemark::ops {
namespace {

class NoOp : public Op {
 public:
  std::string_view name() const override { return "noop"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override { return {{.type = call.input(0)}}; }
  std::optional<SampleRule> samples(const OpCall&) const override { return SampleRule{.inputs = {0}, .outputs = {0}}; }
  Cost cost(const OpCall&) const override { return {}; }
};

class NoOpKernel : public Kernel {
 public:
  void run(const KernelArgs&) const override {}
};

std::unique_ptr<Kernel> make_picky(const KernelRequest& request, std::string& why_not) {
  if (request.call.input(0).shape.elements() % 2 == 0) return std::make_unique<NoOpKernel>();
  why_not = "odd count";
  return nullptr;
}

std::unique_ptr<Kernel> make_any(const KernelRequest& request, std::string& why_not) {
  if (request.threads < 100) return std::make_unique<NoOpKernel>();
  why_not = "too many threads";
  return nullptr;
}

OpSet noop_ops() {
  OpSet ops;
  ops.add({std::make_unique<NoOp>(),
           {{"cpu:picky", KernelDevice::cpu, make_picky}, {"cpu:any", KernelDevice::cpu, make_any}}});
  return ops;
}

KernelChoice choose(int64_t elements, KernelDevice device = KernelDevice::cpu, int threads = 1) {
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {elements}}};
  const Attributes none;
  return noop_ops().choose_kernel("noop", device, {{none, types}, threads});
}

TEST(OpSet, TakesTheFirstKernelThatAccepts) {
  EXPECT_EQ(choose(4).name, "cpu:picky");
  EXPECT_TRUE(choose(4).refused.empty());
}

// Of two or of four samples: the kernel is the same if their group is.
TEST(OpSet, TheKernelOfSamplesInGroupsIsChosenForAGroup) {
  const auto choose_in_groups = [](int64_t elements, int64_t group) {
    const std::optional<ValueType> types[] = {ValueType{DType::f32, {elements}}};
    const Attributes attributes{{std::string(kRowsOfGroup), group}};
    return noop_ops().choose_kernel("noop", KernelDevice::cpu, {{attributes, types}, 1}).name;
  };
  EXPECT_EQ(choose_in_groups(4, 2), "cpu:picky");
  EXPECT_EQ(choose_in_groups(2, 2), "cpu:picky");
  EXPECT_EQ(choose_in_groups(6, 3), "cpu:any") << "six alone would do for the picky one";
  EXPECT_EQ(choose_in_groups(3, 3), "cpu:any");
}

TEST(OpSet, RefusalsBeforeTheChoiceKeepTheirReason) {
  const KernelChoice choice = choose(3);
  EXPECT_EQ(choice.name, "cpu:any");
  EXPECT_NE(choice.kernel, nullptr);
  ASSERT_EQ(choice.refused.size(), 1u);
  EXPECT_EQ(choice.refused[0].kernel, "cpu:picky");
  EXPECT_EQ(choice.refused[0].why, "odd count");
}

std::string message_of(int64_t elements, KernelDevice device, int threads) {
  try {
    choose(elements, device, threads);
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::config);
    return e.what();
  }
  return "accepted";
}

TEST(OpSet, ErrorGivesEveryRefusal) {
  EXPECT_EQ(message_of(3, KernelDevice::cpu, 100),
            "no kernel of device cpu takes noop(f32[3]); cpu:picky: odd count; cpu:any: too many threads");
  EXPECT_EQ(message_of(3, KernelDevice::cuda, 1),
            "no kernel of device cuda takes noop(f32[3]): the op has none for that device");
}

TEST(OpSet, UnknownOpIsRefused) {
  EXPECT_EQ(noop_ops().kernels("noop").size(), 2u);
  EXPECT_THROW(noop_ops().kernels("nope"), Error);
}

TEST(KernelDeathTest, PackingWhereNothingIsPackedIsABug) {
  EXPECT_DEATH(NoOpKernel().pack(0, nullptr, nullptr, nullptr), "packs no input");
}

}  // namespace
}  // namespace tidemark::ops
