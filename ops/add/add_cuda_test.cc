// The source of the CUDA kernel, emulated on the host, against the same cases as the CPU kernel.
#include "ops/add/add_cuda.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "ops/add/add.h"
#include "ops/add/add_cases.h"

namespace tidemark::ops {
namespace {

std::unique_ptr<Kernel> make_emulated(const KernelRequest& request, std::string& why_not) {
  return make_add_cuda(cuda_emulated::launch_add, request, why_not);
}

OpSet emulated_ops() {
  OpSet ops;
  ops.add({add_op().op, {{"emulated:add", KernelDevice::cpu, make_emulated}}});
  ops.add({add_into_op().op, {{"emulated:add", KernelDevice::cpu, make_emulated}}});
  return ops;
}

class AddCudaShapes : public ::testing::TestWithParam<Shape> {};

TEST_P(AddCudaShapes, MatchesReference) {
  for (const char* op : {"add", "add_into"}) testing::check_op_case(emulated_ops(), add_case(op, GetParam()));
}

INSTANTIATE_TEST_SUITE_P(All, AddCudaShapes, ::testing::ValuesIn(add_shapes()));

TEST(AddCuda, ALaunchThatFailsIsADeviceErrorWithItsText) {
  const auto failing = [](const float*, const float*, float*, int64_t, void*) { return "no such device"; };
  const std::optional<ValueType> types[] = {ValueType{DType::f32, {2}}, ValueType{DType::f32, {2}}};
  const Attributes none;
  std::string why_not;
  const std::unique_ptr<Kernel> kernel = make_add_cuda(failing, {{none, types}, 1}, why_not);
  const void* inputs[] = {nullptr, nullptr};
  void* outputs[] = {nullptr};
  try {
    kernel->run({inputs, outputs});
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::device);
    EXPECT_STREQ(e.what(), "CUDA kernel add was not launched: no such device");
  }
}

}  // namespace
}  // namespace tidemark::ops
