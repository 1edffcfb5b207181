// Case 7, the allocator's part: after an out-of-memory error memory stays held.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "framework/runtime/dynamic_executor.h"
#include "framework/testing/plain_allocator.h"
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

// The first step of the tiny mlp, forward, backward and optimizer in one body, as a graph that nobody planned, over the
// weights and state of a run.
class UnplannedStep {
 public:
  explicit UnplannedStep(const std::string& config)
      : tiny_(config), executor_(*tiny_.planned().ops, {.compile = {.threads = 1}}, allocator) {
    tiny_.start();  // one thread, as the configuration says
    const train::PlannedRun& planned = tiny_.planned();
    data::Loader loader(*planned.dataset, {.global_batch = 32, .seed = planned.batch.seed});
    batch_ = loader.next();
    std::iota(sample_ids_.begin(), sample_ids_.end(), 0);
    loss_weight_[0] = 1.0F / static_cast<float>(batch_.targets);
    hyper_.resize(static_cast<size_t>(planned.optimizer->hyper_size()));
    planned.optimizer->write_hyper(0, planned.schedule.at(0), hyper_);
    bind();
  }

  float run() {
    executor_.run(
        "step[32]", [this] { return graph(); }, bindings_);
    return loss_;
  }
  TinyRun& tiny() { return tiny_; }

  memory::AllocatorStats stats() const { return allocator.stats(); }

 private:
  testing::PlainAllocator plain_;

 public:
  RefusingAllocator allocator{plain_};

 private:
  void bind() {
    for (const auto& p : tiny_.trainer().persistent()) bindings_.placed.push_back({p.tensor->name, p.bytes.data()});
    for (size_t f = 0; f < batch_.fields.size(); ++f)
      bindings_.inputs.push_back({train::input_name(tiny_.planned().dataset->info().fields[f]), batch_.fields[f]});
    bindings_.inputs.push_back({train::kSampleIds, std::as_bytes(std::span(sample_ids_))});
    bindings_.inputs.push_back({train::kStepState, std::as_bytes(std::span(step_state_))});
    bindings_.inputs.push_back({train::kLossWeight, std::as_bytes(std::span(loss_weight_))});
    bindings_.inputs.push_back({train::kHyper, std::as_bytes(std::span(hyper_))});
    bindings_.outputs.push_back(
        {tiny_.program().body("step[32]").results[0].name, std::as_writable_bytes(std::span(&loss_, 1))});
  }

  compile::BodySpec graph() const {
    const train::PlannedRun& planned = tiny_.planned();
    train::TrainingGraphs graphs = train::build_training_graphs(
        *planned.model, planned.dataset->info(), *planned.optimizer, planned.batch, planned.ops->table());
    return std::move(*std::ranges::find(graphs.bodies, "step[32]", &compile::BodySpec::name));
  }

  TinyRun tiny_;
  data::HostBatch batch_;
  std::vector<int32_t> sample_ids_ = std::vector<int32_t>(32), step_state_ = {0, 0};
  std::vector<float> loss_weight_ = {0}, hyper_;
  float loss_ = 0;
  runtime::BodyBindings bindings_;
  runtime::DynamicExecutor executor_;
};

TEST(Case07Update, AStepWithItsUpdateAsksOnceBeforeAnythingIsWritten) {
  const std::string config = write_tiny_config(test_folder(), "mlp");
  TinyRun reference(config, {"memory.growth=false"});
  reference.start();
  data::Loader loader(*reference.planned().dataset, {.global_batch = 32, .seed = reference.planned().batch.seed});
  const double loss = reference.trainer().step(loader.next()).loss;

  UnplannedStep step(config);
  const std::string before = step.tiny().parameters_sha256();
  step.allocator.refusals = 1;
  EXPECT_THROW(step.run(), Error);
  EXPECT_EQ(step.stats().allocated_bytes, 0);
  EXPECT_EQ(step.tiny().parameters_sha256(), before);
  EXPECT_EQ(step.run(), loss);
  EXPECT_EQ(step.tiny().parameters_sha256(), reference.parameters_sha256());
  EXPECT_EQ(step.allocator.requests, 2);
  EXPECT_EQ(step.stats().allocated_bytes, 0);
}

}  // namespace
}  // namespace tidemark::tests
