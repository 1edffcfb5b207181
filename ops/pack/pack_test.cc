#include "ops/pack/pack.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::ops {
namespace {

OpSet pack_ops() {
  OpSet ops;
  ops.add(pack_op());
  return ops;
}

const std::optional<ValueType> kWeight[] = {ValueType{DType::f32, {7, 3}}};

TEST(Pack, GivesPackedBytes) {
  const OpSet ops = pack_ops();
  const Attributes attributes = {{"bytes", int64_t{192}}};
  const Op& op = ops.table().find("pack");
  const auto outputs = op.outputs({attributes, kWeight});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_EQ(outputs[0].type, (ValueType{DType::u8, {192}}));
  EXPECT_EQ(outputs[0].category, Category::packed);
  EXPECT_FALSE(outputs[0].overwrites.has_value());
  EXPECT_TRUE(outputs[0].may_share.empty());
  EXPECT_TRUE(op.may_run_twice());
  const Cost cost = op.cost({attributes, kWeight});
  EXPECT_EQ(cost.bytes_read, 84);
  EXPECT_EQ(cost.bytes_written, 192);
}

TEST(Pack, RefusesNoBytes) {
  const OpSet ops = pack_ops();
  const Attributes attributes = {{"bytes", int64_t{0}}};
  EXPECT_THROW(ops.table().find("pack").outputs({attributes, kWeight}), Error);
}

TEST(Pack, HasNoKernelOfItsOwn) {
  const Attributes attributes = {{"bytes", int64_t{192}}};
  EXPECT_THROW(pack_ops().choose_kernel("pack", KernelDevice::cpu, {{attributes, kWeight}, 1}), Error);
}

}  // namespace
}  // namespace tidemark::ops
