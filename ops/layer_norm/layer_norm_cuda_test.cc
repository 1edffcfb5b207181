// The source of the CUDA kernels, emulated on the host, against the CPU kernels.
#include "ops/layer_norm/layer_norm_cuda.h"

#include <gtest/gtest.h>

#include "ops/layer_norm/layer_norm.h"
#include "ops/testing/cpu_reference.h"
#include "ops/testing/op_case.h"

namespace tidemark::ops {
namespace {

using testing::OpCase;

std::unique_ptr<Kernel> make_emulated(const KernelRequest& request, std::string& why_not) {
  return make_layer_norm_cuda(cuda_emulated::launch_layer_norm, request, why_not);
}

std::unique_ptr<Kernel> make_emulated_grad(const KernelRequest& request, std::string& why_not) {
  return make_layer_norm_grad_cuda(cuda_emulated::launch_layer_norm_grad, request, why_not);
}

OpSet cpu_ops() {
  OpSet ops;
  ops.add(layer_norm_op());
  ops.add(layer_norm_grad_op());
  return ops;
}

OpSet emulated_ops() {
  OpSet ops;
  ops.add({layer_norm_op().op, {{"emulated:layer_norm", KernelDevice::cpu, make_emulated}}});
  ops.add({layer_norm_grad_op().op, {{"emulated:layer_norm_grad", KernelDevice::cpu, make_emulated_grad}}});
  return ops;
}

class LayerNormCuda : public ::testing::TestWithParam<Shape> {
 protected:
  const OpSet cpu_ops_ = cpu_ops();
  const ValueType x_{DType::f32, GetParam()};
  const ValueType channels_{DType::f32, {GetParam().dim(-1)}};
  const ValueType statistic_{DType::f32, {GetParam().elements() / GetParam().dim(-1)}};
};

TEST_P(LayerNormCuda, AgreesWithTheCpu) {
  check_op_case(emulated_ops(), OpCase{.name = "layer_norm " + to_string(GetParam()),
                                       .op = "layer_norm",
                                       .attributes = {{"eps", 1e-5}},
                                       .inputs = {{.type = x_, .mean = 2}, {.type = channels_}, {.type = channels_}},
                                       .reference = testing::cpu_reference(cpu_ops_, "layer_norm"),
                                       .check_gradient = false});
}

TEST_P(LayerNormCuda, GradientAgreesWithTheCpuFreshAndOntoSums) {
  for (const bool fresh : {true, false}) {
    check_op_case(emulated_ops(), OpCase{.name = "layer_norm_grad " + to_string(GetParam()),
                                         .op = "layer_norm_grad",
                                         .inputs = {{.type = x_},
                                                    {.type = x_},
                                                    {.type = channels_},
                                                    {.type = statistic_, .stddev = 0.3},
                                                    {.type = statistic_, .mean = 1, .stddev = 0.1},
                                                    {.type = x_, .absent = fresh},
                                                    {.type = channels_, .absent = fresh},
                                                    {.type = channels_, .absent = fresh}},
                                         .reference = testing::cpu_reference(cpu_ops_, "layer_norm_grad"),
                                         .tolerance = 3e-5,
                                         .check_gradient = false});
  }
}

INSTANTIATE_TEST_SUITE_P(All, LayerNormCuda,
                         ::testing::Values(Shape{1, 2}, Shape{2, 3, 5}, Shape{1, 65}, Shape{7, 16}, Shape{3, 300},
                                           Shape{19, 33}));

TEST(LayerNormCudaKernels, TheListBeginsWithThemWhereTheBuildHasCuda) {
  const OpSet ops = cpu_ops();
  for (const char* op : {"layer_norm", "layer_norm_grad"}) {
    const std::vector<KernelEntry>& kernels = ops.kernels(op);
    ASSERT_GE(kernels.size(), 1u);
    EXPECT_EQ(kernels.back().device, KernelDevice::cpu);
    for (size_t i = 0; i + 1 < kernels.size(); ++i) EXPECT_EQ(kernels[i].device, KernelDevice::cuda);
  }
}

}  // namespace
}  // namespace tidemark::ops
