#include "framework/train/plan_digest.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tidemark::train {
namespace {

using Kernels = std::vector<std::pair<std::string, std::string>>;

compile::Program program(const std::vector<std::pair<std::string, Kernels>>& bodies) {
  compile::Program made;
  for (const auto& [name, kernels] : bodies) {
    compile::Body& body = made.bodies.emplace_back();
    body.name = name;
    body.kernels = kernels;
  }
  return made;
}

const Kernels kForward = {{"dense", "onednn:matmul"}, {"loss", "cpu:loss"}};

TEST(KernelDigest, DoesNotHangOnTheSizesOfBodies) {
  const auto whole = program({{"step[32]", kForward}, {"evaluate[32]", kForward}});
  const auto halves = program(
      {{"begin", {{"dense/gradient/zero", "cpu:fill"}}}, {"micro_batch[16]", kForward}, {"evaluate[16]", kForward}});
  EXPECT_EQ(node_kernels(whole), node_kernels(halves));
  EXPECT_EQ(kernel_digest(whole), kernel_digest(halves));
}

TEST(KernelDigest, HangsOnTheKernelOfEveryNode) {
  const auto one = program({{"step[32]", kForward}});
  const auto other = program({{"step[32]", {{"dense", "cpu:matmul"}, {"loss", "cpu:loss"}}}});
  EXPECT_NE(node_kernels(one), node_kernels(other));
  EXPECT_NE(kernel_digest(one), kernel_digest(other));
}

// Of bodies of two sizes: another kernel in one of them is another result.
TEST(KernelDigest, HangsOnKernelsOfFurtherSizes) {
  const Kernels other = {{"dense", "cpu:matmul"}, {"loss", "cpu:loss"}};
  EXPECT_NE(kernel_digest(program({{"step[32]", kForward}, {"step[16]", other}})),
            kernel_digest(program({{"step[32]", kForward}, {"step[16]", kForward}})));
}

TEST(KernelDigest, TellsTrainingFromEvaluation) {
  EXPECT_NE(kernel_digest(program({{"step[32]", kForward}})), kernel_digest(program({{"evaluate[32]", kForward}})));
  EXPECT_EQ(node_kernels(program({{"evaluate[32]", kForward}})).count("evaluate dense"), 1U);
}

}  // namespace
}  // namespace tidemark::train
