// Case 7, the allocator's part: after an out-of-memory error memory stays held.
#include <gtest/gtest.h>

#include <limits>

#include "base/error.h"
#include "memory/allocator/decorators/allocator_decorator.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

// Serves `grants` requests, then refuses `refusals`, then serves all.
class RefusingAllocator : public memory::AllocatorDecorator {
 public:
  using AllocatorDecorator::AllocatorDecorator;

  std::byte* allocate(const memory::AllocationRequest& request) override {
    ++requests;
    if (grants > 0) {
      --grants;
    } else if (refusals > 0) {
      --refusals;
      throw Error(ErrorCode::out_of_memory, "refused by the test");
    }
    return AllocatorDecorator::allocate(request);
  }

  int64_t grants = 0;
  int64_t refusals = 0;
  int64_t requests = 0;
};

constexpr int64_t kForever = std::numeric_limits<int64_t>::max();

class Case07 : public ::testing::Test {
 protected:
  struct Run {
    explicit Run(const std::string& config) : tiny(config) {
      tiny.allocate([this](memory::Allocator& upstream) {
        auto made = std::make_unique<RefusingAllocator>(upstream);
        allocator = made.get();
        return made;
      });
      tiny.start();
      tiny.run().arena().ensure(tiny.planned().arena_bytes);
      const train::BatchPlan& batch = tiny.planned().batch;
      loader = std::make_unique<data::Loader>(
          *tiny.planned().dataset,
          data::Loader::Options{
              .global_batch = batch.global_batch, .micro_batch = batch.micro_batch, .seed = batch.seed});
    }
    double step(const data::HostBatch& batch) { return tiny.trainer().step(batch).loss; }

    TinyRun tiny;
    RefusingAllocator* allocator = nullptr;
    std::unique_ptr<data::Loader> loader;
  };

  const std::string config_ = write_tiny_config(test_folder(), "lstm");
};

// The update is a planned body that asks for nothing: every request of a step is one of its forward or backward pass.
TEST_F(Case07, RefusalAtEveryRequestLeavesTheFloorAndTheNextStepIsUndisturbed) {
  Run undisturbed(config_);
  std::vector<double> losses;
  for (int step = 0; step < 3; ++step) losses.push_back(undisturbed.step(undisturbed.loader->next()));
  const int64_t requests = undisturbed.allocator->requests;
  ASSERT_GT(requests, 20);
  const std::string reference = undisturbed.tiny.parameters_sha256();

  for (int64_t grants = 0; grants < requests; ++grants) {
    SCOPED_TRACE("refused after " + std::to_string(grants));
    Run run(config_);
    run.allocator->grants = grants;
    run.allocator->refusals = kForever;
    int refused = 0;
    for (int step = 0; step < 3; ++step) {
      const data::HostBatch& batch = run.loader->next();
      const std::string before = run.tiny.parameters_sha256();
      try {
        ASSERT_EQ(run.step(batch), losses[static_cast<size_t>(step)]);
      } catch (const Error& error) {
        ++refused;
        ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
        ASSERT_EQ(run.allocator->stats().allocated_bytes, 0) << "what is allocated is back at the step floor";
        ASSERT_EQ(run.allocator->stats().live_blocks, 0);
        ASSERT_EQ(run.tiny.parameters_sha256(), before);
        run.allocator->refusals = 0;
        ASSERT_EQ(run.step(batch), losses[static_cast<size_t>(step)]);
      }
    }
    ASSERT_EQ(refused, 1);
    ASSERT_EQ(run.tiny.parameters_sha256(), reference);
  }
}

TEST_F(Case07, ARefusalThatPassesIsNoErrorAtAll) {
  Run undisturbed(config_), run(config_);
  run.allocator->grants = 5;
  run.allocator->refusals = 1;
  for (int step = 0; step < 3; ++step)
    ASSERT_EQ(run.step(run.loader->next()), undisturbed.step(undisturbed.loader->next()));
  EXPECT_EQ(run.allocator->refusals, 0);
  EXPECT_EQ(run.tiny.parameters_sha256(), undisturbed.tiny.parameters_sha256());
}

TEST_F(Case07, RefusedEvaluationToo) {
  Run run(config_);
  const auto evaluate = [&] {
    data::Loader loader(
        *run.tiny.planned().dataset,
        {.global_batch = run.tiny.planned().batch.micro_batch, .shuffle = false, .split = data::Split::eval});
    return run.tiny.trainer().evaluate(loader, run.tiny.planned().batch.eval_samples).loss;
  };
  const double loss = evaluate();
  run.allocator->refusals = kForever;
  EXPECT_THROW(evaluate(), Error);
  EXPECT_EQ(run.allocator->stats().allocated_bytes, 0);
  run.allocator->refusals = 0;
  EXPECT_EQ(evaluate(), loss);
}

}  // namespace
}  // namespace tidemark::tests
