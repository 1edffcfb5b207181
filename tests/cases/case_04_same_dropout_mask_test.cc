// Case 4: recomputation drew another dropout mask. Here gradients with and without recomputation are bit-equal, also
// where what is recomputed rests on recomputed values; with masks that hang on when they are drawn they are not.
#include <gtest/gtest.h>

#include "framework/data/loader.h"
#include "tests/cases/recomputed_run.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

// A generator that has moved on since the first draw: what a mask without its own counter comes from.
class LaterMask : public WrappedKernel {
 public:
  using WrappedKernel::WrappedKernel;
  void run(const ops::KernelArgs& args) const override {
    const auto* state = static_cast<const int32_t*>(args.inputs[2]);
    const int32_t later[2] = {state[0] + 1'000'000, state[1]};
    std::vector<const void*> inputs(args.inputs.begin(), args.inputs.end());
    inputs[2] = later;
    ops::KernelArgs moved = args;
    moved.inputs = inputs;
    inner_->run(moved);
  }
};

class SameDropoutMask : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = test_folder();
    config_ = write_tiny_config(folder_, "gpt");
  }

  std::unique_ptr<TinyRun> tight() { return run_within_least_budget(config_, folder_, overrides_); }

  // Step by step: an evaluation would use the gradients' bytes.
  static Tensors train(TinyRun& tiny) {
    tiny.start();
    data::Loader loader(*tiny.planned().dataset, {.global_batch = 32, .seed = 3, .shuffle = true}, {0, 0});
    for (int step = 0; step < 3; ++step) tiny.trainer().step(loader.next());
    return gradients(tiny);
  }

  // Clipping keeps all gradients to the end of the step.
  const std::vector<std::string> overrides_ = {"model.layers=3", "model.dropout=0.3", "train.clip_norm=1e9"};
  std::string folder_, config_;
};

TEST_F(SameDropoutMask, GradientsAreBitEqualNestedSegmentsToo) {
  TinyRun plain(config_, overrides_);
  const Tensors want = train(plain);
  const auto recomputed = tight();
  EXPECT_FALSE(again(recomputed->program(), "dropout").empty()) << "no mask is drawn again";
  EXPECT_GT(nested(recomputed->program()), 0) << "no recomputation rests on another";
  EXPECT_EQ(train(*recomputed), want);
  EXPECT_EQ(recomputed->parameters_sha256(), plain.parameters_sha256());
}

TEST_F(SameDropoutMask, AMaskThatHangsOnWhenItIsDrawnIsNoticed) {
  TinyRun plain(config_, overrides_);
  const Tensors want = train(plain);
  const auto recomputed = tight();
  ASSERT_GT(wrap_kernels<LaterMask>(*recomputed, "dropout", true), 0);
  const Tensors got = train(*recomputed);
  int64_t different = 0;
  for (const auto& [name, gradient] : want) different += got.at(name) != gradient;
  EXPECT_GT(different, 0) << "another mask would pass the other test";
}

}  // namespace
}  // namespace tidemark::tests
