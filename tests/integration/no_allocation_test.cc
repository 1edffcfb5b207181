// Promise 4: after warm-up a step allocates nothing of ours, on the host or the device. What oneDNN allocates inside
// its own kernels is counted apart, by kernel, and printed.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "framework/data/loader.h"
#include "framework/runtime/executor.h"
#include "tests/integration/allocation_counter.h"
#include "tests/integration/tiny_data.h"
#include "tests/integration/tiny_run.h"

namespace tidemark::tests {
namespace {

constexpr std::string_view kVendorPrefix = "onednn:";

// Allocations inside kernels of a vendor library, by kernel. Its own map is filled before the counting begins.
class VendorAllocations : public runtime::ExecutionObserver {
 public:
  explicit VendorAllocations(const compile::Program& program) {
    for (const compile::Body& body : program.bodies)
      for (const compile::Instruction& i : body.instructions)
        if (i.kernel_name.starts_with(kVendorPrefix)) calls_[i.kernel_name] = 0;
  }

  void before(const compile::Body&, size_t) override { at_begin_ = counted_allocations(); }
  void after(const compile::Body& body, size_t instruction) override {
    const auto kernel = calls_.find(body.instructions[instruction].kernel_name);
    if (kernel == calls_.end()) return;
    // Our code around the library's is held to the promise there too.
    const Allocations now = counted_allocations();
    const int64_t calls = (now.all - at_begin_.all) - (now.from_program - at_begin_.from_program);
    kernel->second += calls;
    total_ += calls;
  }

  int64_t total() const { return total_; }
  const std::map<std::string, int64_t>& calls() const { return calls_; }

 private:
  std::map<std::string, int64_t> calls_;
  Allocations at_begin_;
  int64_t total_ = 0;
};

struct NoAllocationCase {
  const char* name;
  const char* model;
  std::vector<std::string> overrides;
};

void PrintTo(const NoAllocationCase& test, std::ostream* out) { *out << ::testing::PrintToString(test.overrides); }

class NoAllocation : public ::testing::TestWithParam<NoAllocationCase> {};

TEST(AllocationCounter, SeesEveryWayToAllocate) {
  const AllocationCounter counter;
  auto* vector = new std::vector<int>(100);  // two calls
  void* plain = std::malloc(10);
  plain = std::realloc(plain, 2000);
  void* aligned = nullptr;
  EXPECT_EQ(::posix_memalign(&aligned, 64, 64), 0);
  void* from_library = ::strdup("asked for by glibc");
  const Allocations calls = counted_allocations();
  delete vector;
  std::free(plain);
  std::free(aligned);
  std::free(from_library);
  EXPECT_EQ(calls.all, 6);
  EXPECT_EQ(calls.from_program, 5);
}

TEST_P(NoAllocation, AStepAfterTheFirst) {
  TinyRun tiny(write_tiny_config(test_folder(), GetParam().model), GetParam().overrides);
  const train::PlannedRun& planned = tiny.planned();
  memory::Arena arena(tiny.device(), planned.program->arena_bytes, {.growth = false});
  VendorAllocations vendor(tiny.program());
  runtime::Executor executor(tiny.program(), arena.data(), &vendor);
  train::Trainer trainer(executor, planned.dataset->info(), *planned.optimizer, planned.schedule, planned.batch);
  trainer.initialise(planned.initializers);
  data::Loader loader(*planned.dataset, {.global_batch = planned.batch.global_batch, .seed = planned.batch.seed});
  trainer.step(loader.next());

  const int64_t device_calls = tiny.device().alloc_calls();
  int64_t ours = 0;
  {
    const AllocationCounter counter;
    for (int step = 0; step < 6; ++step)
      trainer.step(loader.next());  // over the end of an epoch, with its smaller batch
    ours = counted_allocations().all - vendor.total();
  }
  EXPECT_EQ(ours, 0) << "host allocations outside vendor kernels";
  EXPECT_EQ(tiny.device().alloc_calls(), device_calls);
  for (const auto& [kernel, calls] : vendor.calls())
    std::cout << GetParam().name << ": " << kernel << " allocated " << calls << " times in 6 steps\n";
}

// Lines of one length: two shapes, planned after their second step.
TEST(PackedNoAllocation, AStepWhoseBodiesArePlanned) {
  const std::string folder = test_folder();
  const std::string config = write_tiny_config(folder, "lstm");
  std::string text;
  for (int i = 0; i < 80; ++i) text += "nine or " + std::string(1, static_cast<char>('a' + i % 26)) + "\n";
  write_file(folder + "/lines.txt", text);
  TinyRun tiny(config, {"train.steps=30", "train.eval_every=100"});
  tiny.start();
  std::unique_ptr<AllocationCounter> counter;
  int64_t ours = -1;
  tiny.train({.at_step_boundary = [&] {
    if (tiny.trainer().steps_done() == 10) counter = std::make_unique<AllocationCounter>();
    if (tiny.trainer().steps_done() == 25) {
      ours = counted_allocations().from_program;
      counter.reset();
    }
  }});
  EXPECT_EQ(tiny.run().dynamic()->counts().plans, 2);
  EXPECT_EQ(ours, 0);
}

INSTANTIATE_TEST_SUITE_P(Runs, NoAllocation,
                         ::testing::Values(NoAllocationCase{"mlp", "mlp", {}},  //
                                           NoAllocationCase{"mlp_accumulated", "mlp", {"memory.micro_batch=8"}},
                                           NoAllocationCase{"resnet", "resnet", {}}, NoAllocationCase{"gpt", "gpt", {}},
                                           NoAllocationCase{"gpt_clipped", "gpt", {"train.clip_norm=1"}},
                                           NoAllocationCase{"gpt_two_threads", "gpt", {"train.threads=2"}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tidemark::tests
