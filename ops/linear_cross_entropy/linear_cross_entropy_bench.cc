// The head of GPT-2 124M (50,257 classes padded to 50,304, 768 channels), and beside it the three products that it is
// made of through dnnl_sgemm, in the same run. One thread is timed by its own CPU time, which other programs disturb
// less.
//   bazel build //ops/linear_cross_entropy:linear_cross_entropy_bench
//   bazel-bin/ops/linear_cross_entropy/linear_cross_entropy_bench
#include <benchmark/benchmark.h>
#include <dnnl.h>
#include <omp.h>

#include "ops/bench/benched_kernel.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kClasses = 50257, kVocabulary = 50304, kChannels = 768;

void report(benchmark::State& state, double flops, double workspace) {
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["workspace"] = workspace;
}

enum Kind { kLoss, kGradient, kGradientOntoSum };

// Arguments: samples, threads.
void head(benchmark::State& state, Kind kind) {
  const int64_t samples = state.range(0);
  const ValueType x{DType::f32, {samples, kChannels}}, weight{DType::f32, {kVocabulary, kChannels}};
  std::vector<std::optional<ValueType>> inputs = {x, weight, ValueType{DType::i32, {samples}},
                                                  ValueType{DType::f32, {1}}};
  if (kind == kGradientOntoSum) inputs.push_back(weight);
  const bench::BenchedKernel kernel(kind == kLoss ? linear_cross_entropy_op() : linear_cross_entropy_grad_op(),
                                    {{"classes", kClasses}}, inputs, static_cast<int>(state.range(1)), kClasses);
  for (auto _ : state) kernel.run();
  report(state, kernel.flops(), static_cast<double>(kernel.workspace_bytes()));
}

// Logits of all samples at once, dx and dw from them; no softmax.
void sgemm(benchmark::State& state) {
  const int64_t samples = state.range(0);
  omp_set_num_threads(static_cast<int>(state.range(1)));
  std::vector<float> x(samples * kChannels, 0.01f), dx(x), weight(kVocabulary * kChannels, 0.01f), dw(weight);
  std::vector<float> logits(samples * kVocabulary);
  for (auto _ : state) {
    dnnl_sgemm('N', 'T', samples, kVocabulary, kChannels, 1, x.data(), kChannels, weight.data(), kChannels, 0,
               logits.data(), kVocabulary);
    dnnl_sgemm('N', 'N', samples, kChannels, kVocabulary, 1, logits.data(), kVocabulary, weight.data(), kChannels, 0,
               dx.data(), kChannels);
    dnnl_sgemm('T', 'N', kVocabulary, kChannels, samples, 1, logits.data(), kVocabulary, x.data(), kChannels, 0,
               dw.data(), kChannels);
  }
  report(state, 6.0 * samples * kVocabulary * kChannels, static_cast<double>(logits.size() * sizeof(float)));
}

void shapes(benchmark::internal::Benchmark* benchmark, int64_t threads) {
  benchmark->ArgNames({"samples", "threads"})->Unit(benchmark::kMillisecond);
  for (const int64_t samples : {256, 1024}) benchmark->Args({samples, threads});
}
void one_thread(benchmark::internal::Benchmark* benchmark) { shapes(benchmark, 1); }
void two_threads(benchmark::internal::Benchmark* benchmark) { shapes(benchmark->UseRealTime(), 2); }

BENCHMARK_CAPTURE(head, loss, kLoss)->Apply(one_thread);
BENCHMARK_CAPTURE(head, gradient, kGradient)->Apply(one_thread);
BENCHMARK_CAPTURE(head, gradient_onto_sum, kGradientOntoSum)->Apply(one_thread);
BENCHMARK(sgemm)->Apply(one_thread);
BENCHMARK_CAPTURE(head, loss, kLoss)->Apply(two_threads);
BENCHMARK_CAPTURE(head, gradient, kGradient)->Apply(two_threads);
BENCHMARK_CAPTURE(head, gradient_onto_sum, kGradientOntoSum)->Apply(two_threads);
BENCHMARK(sgemm)->Apply(two_threads);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
