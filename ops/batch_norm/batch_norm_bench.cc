// Time of batch normalization on the layers of a residual net, 128 samples in groups of 64, one thread by the time of
// its CPU. Operands come from memory, as most do in a step: each run takes the next of several sets, which together are
// larger than a cache. GB/s counts the operands once, however often a kernel reads them.
//   bazel build //ops/batch_norm:batch_norm_bench && bazel-bin/ops/batch_norm/batch_norm_bench
#include <benchmark/benchmark.h>

#include <functional>
#include <memory>

#include "ops/batch_norm/batch_norm.h"
#include "ops/bench/benched_kernel.h"

namespace tidemark::ops {
namespace {

using bench::BenchedKernel;

constexpr int64_t kSamples = 128, kGroup = 64;
constexpr int kSets = 8;

struct Layer {
  explicit Layer(const benchmark::State& state)
      : x{DType::f32, {kSamples, state.range(0), state.range(0), state.range(1)}},
        channel{DType::f32, {state.range(1)}},
        group{DType::f32, {kSamples / kGroup, state.range(1)}} {}

  std::unique_ptr<BenchedKernel> kernel(OpDefinition op, std::vector<std::optional<ValueType>> inputs,
                                        bool relu = false) const {
    const Attributes attributes = {{"group", kGroup}, {"eps", 1e-5}, {"relu", relu}};
    return std::make_unique<BenchedKernel>(std::move(op), attributes, std::move(inputs), 1);
  }

  ValueType x, channel, group;
};

// `tensors`: operands of x's size.
void run(benchmark::State& state, const Layer& layer, int64_t tensors,
         const std::function<std::unique_ptr<BenchedKernel>()>& make) {
  std::vector<std::unique_ptr<BenchedKernel>> sets;
  for (int i = 0; i < kSets; ++i) sets.push_back(make());
  size_t turn = 0;
  for (auto _ : state) sets[turn++ % sets.size()]->run();
  state.SetBytesProcessed(state.iterations() * tensors * layer.x.bytes());
}

void statistics(benchmark::State& state) {
  const Layer l(state);
  run(state, l, 1, [&] { return l.kernel(batch_norm_statistics_op(), {l.x}); });
}

void apply(benchmark::State& state, bool residual_and_relu) {
  const Layer l(state);
  std::vector<std::optional<ValueType>> inputs = {l.x, l.channel, l.channel, l.group, l.group};
  if (residual_and_relu) inputs.push_back(l.x);
  run(state, l, residual_and_relu ? 3 : 2, [&] { return l.kernel(batch_norm_apply_op(), inputs, residual_and_relu); });
}

void gradient(benchmark::State& state, bool relu) {
  const Layer l(state);
  run(state, l, 3, [&] {
    return l.kernel(batch_norm_grad_op(), {l.x, l.x, l.channel, l.group, l.group, l.channel}, relu);
  });
}

void residual_net(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"size", "channels"})->MeasureProcessCPUTime()->Unit(benchmark::kMicrosecond);
  bench->Args({28, 16})->Args({14, 32})->Args({7, 64});
}

BENCHMARK(statistics)->Apply(residual_net);
BENCHMARK_CAPTURE(apply, plain, false)->Apply(residual_net);
BENCHMARK_CAPTURE(apply, residual_and_relu, true)->Apply(residual_net);
BENCHMARK_CAPTURE(gradient, plain, false)->Apply(residual_net);
BENCHMARK_CAPTURE(gradient, masked, true)->Apply(residual_net);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
