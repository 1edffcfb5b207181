#include "framework/train/packed_bodies.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "framework/testing/aligned_bytes.h"
#include "framework/testing/plain_allocator.h"
#include "framework/train/trainer.h"
#include "ops/all_ops.h"

namespace tidemark::train {
namespace {

constexpr int64_t kClasses = 11;
constexpr int64_t kTrainSamples = 50;
constexpr int64_t kEvalSamples = 12;

// Samples of 1 to 9 rows; the next token follows from the token before it and the sample.
class FakeLines : public data::Dataset {
 public:
  const data::DataInfo& info() const override { return info_; }
  int64_t size(data::Split split) const override { return split == data::Split::train ? kTrainSamples : kEvalSamples; }
  int64_t length(data::Split, int64_t index) const override { return 1 + index * index % 9; }
  int64_t targets(data::Split split, int64_t index) const override { return length(split, index); }
  void read(data::Split split, int64_t index, std::span<std::byte* const> to) const override {
    const int64_t rows = length(split, index);
    for (int64_t row = 0; row < rows; ++row) {
      reinterpret_cast<int32_t*>(to[0])[row] = static_cast<int32_t>((index + row) % kClasses);
      reinterpret_cast<int32_t*>(to[1])[row] = static_cast<int32_t>((index + row * 3 + 1) % kClasses);
    }
    *reinterpret_cast<int32_t*>(to[2]) = static_cast<int32_t>(rows);
  }

 private:
  const data::DataInfo info_{.fields = {{"tokens", {DType::i32, Shape{}}, true},
                                        {"targets", {DType::i32, Shape{}}, true},
                                        {"lengths", {DType::i32, Shape{}}}},
                             .classes = kClasses,
                             .kind = "fake_lines",
                             .packed = true};
};

// Every row by itself: embedding, a hidden layer, a head.
class RowModel : public models::Model {
 public:
  void fields(config::Fields&) override {}
  std::string_view kind() const override { return "rows"; }
  std::vector<std::string> problems(const data::DataInfo&) const override { return {}; }
  models::ModelOutputs build(models::ModelBuilder& b, const models::ModelRequest& request) const override {
    const models::Initializer normal{models::Initializer::Kind::normal, 0.5};
    const ValueId table = b.weight("table", Shape{kClasses, 16}, normal);
    ValueId x = b.op("embedding", "lookup", {request.inputs.at(0), table});
    const ValueId weight = b.weight("hidden/weight", Shape{32, 16}, normal);
    const ValueId bias = b.weight("hidden/bias", Shape{32}, {});
    x = b.op("matmul", "hidden", {x, weight, bias}, {{"transpose_b", true}, {"activation", "relu"}});
    const ValueId head = b.weight("head/weight", Shape{kClasses, 32}, normal);
    return {b.op("linear_cross_entropy", "head", {x, head, request.inputs.at(1), request.loss_weight},
                 {{"classes", kClasses}}),
            std::nullopt};
  }
};

// A run of packed data without a device: arena on the heap, allocator over the heap.
class PackedRun {
 public:
  explicit PackedRun(int64_t micro_batch = 4, size_t cached_bodies = 64, int64_t global_batch = 8) {
    batch_ = {.global_batch = global_batch,
              .micro_batch = micro_batch,
              .train_samples = kTrainSamples,
              .eval_samples = kEvalSamples,
              .clip_norm = 1.0,
              .train_rows = data::most_rows(lines_, data::Split::train, micro_batch),
              .eval_rows = data::most_rows(lines_, data::Split::eval, micro_batch)};
    TrainingGraphs graphs = build_training_graphs(model_, lines_.info(), *optimizer_, batch_, ops_.table());
    program_ = compile::compile(std::move(graphs.bodies), ops_, options_.compile);
    block_bytes = widest_block_bytes(model_, lines_.info(), batch_, ops_, program_, options_);
    options_.cached_bodies = cached_bodies;
    arena_ = std::make_unique<testing::AlignedBytes>(program_.arena_bytes);
    executor_ = std::make_unique<runtime::Executor>(program_, arena_->data());
    dynamic = std::make_unique<runtime::DynamicExecutor>(ops_, options_, allocator);
    bodies = std::make_unique<PackedBodies>(model_, lines_.info(), batch_, ops_.table(), *executor_, *dynamic);
    trainer = std::make_unique<Trainer>(*executor_, lines_.info(), *optimizer_, optim::Schedule{.lr = 0.01}, batch_,
                                        bodies.get());
    trainer->initialise(graphs.initializers);
  }

  data::Loader loader(data::SamplerPosition begin = {}) const {
    return {lines_, {.global_batch = batch_.global_batch, .micro_batch = batch_.micro_batch}, begin};
  }

  std::vector<double> train(int steps) {
    data::Loader all = loader();
    std::vector<double> losses;
    for (int i = 0; i < steps; ++i) losses.push_back(trainer->step(all.next()).loss);
    return losses;
  }

  EvalResult evaluate() {
    data::Loader all(lines_, {.global_batch = batch_.micro_batch, .shuffle = false, .split = data::Split::eval});
    return trainer->evaluate(all, kEvalSamples);
  }

 private:
  const ops::OpSet ops_ = ops::all_ops();
  const FakeLines lines_;
  const RowModel model_;
  const std::unique_ptr<optim::Optimizer> optimizer_ = optim::make_optimizer("adamw", {});
  BatchPlan batch_;
  runtime::DynamicOptions options_;
  compile::Program program_;
  std::unique_ptr<testing::AlignedBytes> arena_;
  std::unique_ptr<runtime::Executor> executor_;

 public:
  int64_t block_bytes = 0;
  testing::PlainAllocator allocator;
  std::unique_ptr<runtime::DynamicExecutor> dynamic;
  std::unique_ptr<PackedBodies> bodies;
  std::unique_ptr<Trainer> trainer;
};

TEST(PackedBodies, Learns) {
  PackedRun run;
  const double before = run.evaluate().loss;
  const std::vector<double> losses = run.train(200);
  EXPECT_LT(losses.back(), 0.8 * losses.front());
  EXPECT_LT(run.evaluate().loss, before);
  EXPECT_EQ(run.evaluate().samples, kEvalSamples);
  EXPECT_EQ(run.allocator.stats().live_blocks, 0);
}

TEST(PackedBodies, EveryStepIsTheSameWhetherItsBodiesArePlannedOrNot) {
  PackedRun mixed, unplanned(4, 1), planned;
  const std::vector<double> losses = mixed.train(30);
  EXPECT_GT(mixed.dynamic->counts().unplanned_runs, 0);
  EXPECT_GT(mixed.dynamic->counts().planned_runs, 0);
  EXPECT_EQ(unplanned.train(30), losses);
  EXPECT_GT(unplanned.dynamic->counts().unplanned_runs, 5 * unplanned.dynamic->counts().planned_runs);
  {
    const PackedBodies::InOneBlock always(*planned.bodies);
    EXPECT_EQ(planned.train(30), losses);
  }
  EXPECT_EQ(planned.dynamic->counts().unplanned_runs, 0);
  EXPECT_EQ(mixed.trainer->parameters_sha256(), unplanned.trainer->parameters_sha256());
  EXPECT_EQ(mixed.trainer->parameters_sha256(), planned.trainer->parameters_sha256());
}

TEST(PackedBodies, MicroBatchesOfABatchAreWeightedByTheirRows) {
  PackedRun whole(8), halves(4), singles(1);
  const double loss = whole.train(1)[0];
  EXPECT_NEAR(halves.train(1)[0], loss, 1e-6 * loss);
  EXPECT_NEAR(singles.train(1)[0], loss, 1e-6 * loss);
}

TEST(PackedBodies, NoShapeNeedsMoreThanTheWidest) {
  PackedRun run;
  const PackedBodies::InOneBlock always(*run.bodies);
  run.train(40);
  run.evaluate();
  EXPECT_GT(run.dynamic->size(), 5U);
  EXPECT_LE(run.allocator.stats().allocated_peak_bytes, run.block_bytes);
  EXPECT_GE(run.allocator.stats().allocated_peak_bytes, run.block_bytes / 2);  // it is a bound that is near
}

// CASE 7: every request of two steps, one block by block and one planned, is refused.
TEST(PackedBodies, RefusedStepLeavesNothingAndCanBeRunAgain) {
  PackedRun undisturbed;
  const std::vector<double> losses = undisturbed.train(3);
  const int64_t requests = undisturbed.allocator.stats().allocations;
  ASSERT_GT(requests, 20);
  for (int64_t grants = 0; grants < requests; ++grants) {
    PackedRun run;
    run.allocator.refuse_after(grants);
    data::Loader loader = run.loader();
    int refusals = 0;
    for (int step = 0; step < 3; ++step) {
      const data::HostBatch& batch = loader.next();
      const std::string before = run.trainer->parameters_sha256();
      try {
        ASSERT_EQ(run.trainer->step(batch).loss, losses[static_cast<size_t>(step)]) << grants;
      } catch (const Error& error) {
        ASSERT_EQ(error.code(), ErrorCode::out_of_memory);
        ++refusals;
        ASSERT_EQ(run.allocator.stats().live_blocks, 0) << grants;
        ASSERT_EQ(run.allocator.stats().allocated_bytes, 0) << grants;
        ASSERT_EQ(run.trainer->parameters_sha256(), before) << grants;
        ASSERT_EQ(run.trainer->steps_done(), step);
        run.allocator.allow();
        ASSERT_EQ(run.trainer->step(batch).loss, losses[static_cast<size_t>(step)]) << grants;
      }
    }
    ASSERT_EQ(refusals, 1) << grants;
    ASSERT_EQ(run.trainer->parameters_sha256(), undisturbed.trainer->parameters_sha256()) << grants;
  }
}

TEST(PackedBodies, OneRefusalIsMadeUpForByBodiesInOneBlock) {
  PackedRun undisturbed, run;
  const std::vector<double> losses = undisturbed.train(2);
  const double evaluation = undisturbed.evaluate().loss;
  run.allocator.refuse_after(3, 1);
  EXPECT_EQ(run.train(2), losses);
  EXPECT_EQ(run.allocator.stats().out_of_memory, 1);
  run.allocator.refuse_after(3, 1);
  EXPECT_EQ(run.evaluate().loss, evaluation);
  EXPECT_EQ(run.allocator.stats().out_of_memory, 2);
}

}  // namespace
}  // namespace tidemark::train
