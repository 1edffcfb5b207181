// Attention of GPT-2 124M: 12 heads of 64. One thread is timed by its own CPU time, which other programs disturb less.
//   bazel build //ops/attention:attention_bench && bazel-bin/ops/attention/attention_bench
#include <benchmark/benchmark.h>

#include "ops/attention/attention.h"
#include "ops/bench/benched_kernel.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kHeads = 12, kChannels = 768;

// Arguments: batch, length, threads.
void attention(benchmark::State& state, bool gradient) {
  const int64_t batch = state.range(0), length = state.range(1);
  const ValueType qkv{DType::f32, {batch, length, 3 * kChannels}}, out{DType::f32, {batch, length, kChannels}};
  const ValueType lse{DType::f32, {batch, kHeads, length}};
  std::vector<std::optional<ValueType>> inputs = {qkv};
  if (gradient) inputs = {qkv, out, lse, out};
  const bench::BenchedKernel kernel(gradient ? attention_grad_op() : attention_op(), {{"heads", kHeads}}, inputs,
                                    static_cast<int>(state.range(2)));
  for (auto _ : state) kernel.run();
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * kernel.flops() * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["workspace"] = static_cast<double>(kernel.workspace_bytes());
}

void shapes(benchmark::internal::Benchmark* benchmark, int64_t threads) {
  benchmark->ArgNames({"batch", "length", "threads"})->Unit(benchmark::kMillisecond);
  for (const int64_t length : {64, 256, 1024}) benchmark->Args({4, length, threads});
}
void one_thread(benchmark::internal::Benchmark* benchmark) { shapes(benchmark, 1); }
void two_threads(benchmark::internal::Benchmark* benchmark) { shapes(benchmark->UseRealTime(), 2); }

BENCHMARK_CAPTURE(attention, forward, false)->Apply(one_thread);
BENCHMARK_CAPTURE(attention, forward, false)->Apply(two_threads);
BENCHMARK_CAPTURE(attention, backward, true)->Apply(one_thread);
BENCHMARK_CAPTURE(attention, backward, true)->Apply(two_threads);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
