// Layer normalisation of GPT-2 124M: 768 channels. One thread is timed by its own CPU time.
//   bazel build //ops/layer_norm:layer_norm_bench && bazel-bin/ops/layer_norm/layer_norm_bench
#include <benchmark/benchmark.h>

#include "ops/bench/benched_kernel.h"
#include "ops/layer_norm/layer_norm.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kChannels = 768;

void report(benchmark::State& state, const bench::BenchedKernel& kernel, int64_t passes) {
  const double bytes = static_cast<double>(passes * state.range(0) * kChannels) * sizeof(float);
  state.counters["GB/s"] =
      benchmark::Counter(1e-9 * bytes * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["workspace"] = static_cast<double>(kernel.workspace_bytes());
}

// Arguments: rows, threads.
void forward(benchmark::State& state) {
  const ValueType x{DType::f32, {state.range(0), kChannels}}, gamma{DType::f32, {kChannels}};
  const bench::BenchedKernel kernel(layer_norm_op(), {{"eps", 1e-5}}, {x, gamma, gamma},
                                    static_cast<int>(state.range(1)));
  for (auto _ : state) kernel.run();
  report(state, kernel, 2);
}

// Onto the gradient of the residual stream.
void backward(benchmark::State& state) {
  const ValueType x{DType::f32, {state.range(0), kChannels}}, gamma{DType::f32, {kChannels}};
  const ValueType statistic{DType::f32, {state.range(0)}};
  const bench::BenchedKernel kernel(layer_norm_grad_op(), {}, {x, x, gamma, statistic, statistic, x},
                                    static_cast<int>(state.range(1)));
  for (auto _ : state) kernel.run();
  report(state, kernel, 4);
}

void shapes(benchmark::internal::Benchmark* benchmark, int64_t threads) {
  benchmark->ArgNames({"rows", "threads"})->Unit(benchmark::kMillisecond);
  for (const int64_t rows : {256, 1024}) benchmark->Args({rows, threads});
}
void one_thread(benchmark::internal::Benchmark* benchmark) { shapes(benchmark, 1); }
void two_threads(benchmark::internal::Benchmark* benchmark) { shapes(benchmark->UseRealTime(), 2); }

BENCHMARK(forward)->Apply(one_thread);
BENCHMARK(forward)->Apply(two_threads);
BENCHMARK(backward)->Apply(one_thread);
BENCHMARK(backward)->Apply(two_threads);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
