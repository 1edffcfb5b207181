// Builds with and without CUDA: the header of the CUDA runtime may be included exactly where if_cuda says so.
#include <gtest/gtest.h>

#if TM_SAMPLE_BACKEND
#include "bazel/cuda/sample_kernel.h"
#endif

namespace {

TEST(IfCuda, ChoosesOneSide) {
#if TM_SAMPLE_BACKEND
  EXPECT_NE(&tidemark::SampleAxpy, nullptr);
#else
  EXPECT_EQ(TM_SAMPLE_BACKEND, 0);
#endif
}

}  // namespace
