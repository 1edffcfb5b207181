// GFLOP/s of the linear layers of GPT-2 124M, weights rotated so that they are not in cache:
//   bazel build -c opt //ops/matmul:matmul_bench && bazel-bin/ops/matmul/matmul_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>

#include "ops/matmul/matmul.h"

namespace tidemark::ops {
namespace {

constexpr int kWeightCopies = 12;

struct Free {
  void operator()(void* p) const { std::free(p); }
};

class Bytes {
 public:
  explicit Bytes(int64_t bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(4096, static_cast<size_t>(bytes + 4096) / 4096 * 4096))) {
    float* values = reinterpret_cast<float*>(data_.get());
    for (int64_t i = 0; i < bytes / 4; ++i) values[i] = 0.001f * static_cast<float>(i * 7919 % 1000 - 500);
  }
  std::byte* at(int64_t offset) { return data_.get() + offset; }

 private:
  std::unique_ptr<std::byte, Free> data_;
};

enum Kind { kForward, kGradInput, kGradWeight, kGradWeightAccumulate };

OpDefinition definition(Kind kind) {
  return kind == kForward ? matmul_op() : kind == kGradInput ? matmul_grad_input_op() : matmul_grad_weight_op();
}

// Arguments: rows, K, N, transpose_w, threads.
void layer(benchmark::State& state, Kind kind) {
  const int64_t rows = state.range(0), in = state.range(1), out = state.range(2);
  const bool transpose_w = state.range(3) != 0;
  const ValueType x{DType::f32, {rows, in}}, dz{DType::f32, {rows, out}}, bias{DType::f32, {out}};
  const ValueType w{DType::f32, transpose_w ? Shape{out, in} : Shape{in, out}};
  Attributes attributes = {{"transpose_w", transpose_w}};
  std::vector<std::optional<ValueType>> types = {x, w, bias};
  if (kind == kGradInput) types = {dz, w}, attributes.set("x_shape", x.shape.dims());
  if (kind == kGradWeight) types = {x, dz};
  if (kind == kGradWeightAccumulate) types = {x, dz, w};

  OpSet ops;
  const std::string name(definition(kind).op->name());
  ops.add(definition(kind));
  const KernelChoice choice =
      ops.choose_kernel(name, KernelDevice::cpu, {{attributes, types}, static_cast<int>(state.range(4))});
  Bytes xs(x.bytes()), dzs(dz.bytes()), biases(bias.bytes()), weights(w.bytes() * kWeightCopies);
  Bytes workspace(choice.kernel->workspace_bytes());
  int turn = 0;
  for (auto _ : state) {
    std::byte* weight = weights.at(w.bytes() * (turn++ % kWeightCopies));
    const void* inputs[3] = {xs.at(0), weight, biases.at(0)};
    void* outputs[1] = {dzs.at(0)};
    if (kind == kGradInput) inputs[0] = dzs.at(0), outputs[0] = xs.at(0);
    if (kind >= kGradWeight) inputs[1] = dzs.at(0), inputs[2] = weight, outputs[0] = weight;
    choice.kernel->run({.inputs = {inputs, types.size()}, .outputs = outputs, .workspace = workspace.at(0)});
  }
  state.counters["GFLOP/s"] =
      benchmark::Counter(2e-9 * static_cast<double>(rows * in * out * state.iterations()), benchmark::Counter::kIsRate);
  state.counters["workspace"] = static_cast<double>(choice.kernel->workspace_bytes());
}

void gpt2_shapes(benchmark::internal::Benchmark* bench, int64_t threads) {
  bench->ArgNames({"rows", "K", "N", "transpose_w", "threads"});
  for (auto [in, out] : {std::pair{768, 2304}, {768, 768}, {768, 3072}, {3072, 768}}) {
    for (int64_t transpose_w : {1, 0}) bench->Args({256, in, out, transpose_w, threads});
  }
}

// One thread by the time of its CPU, which other programs disturb less; two by the clock.
void one_thread(benchmark::internal::Benchmark* bench) { gpt2_shapes(bench->MeasureProcessCPUTime(), 1); }
void two_threads(benchmark::internal::Benchmark* bench) { gpt2_shapes(bench->UseRealTime(), 2); }

BENCHMARK_CAPTURE(layer, forward, kForward)->Apply(one_thread);
BENCHMARK_CAPTURE(layer, forward, kForward)->Apply(two_threads);
BENCHMARK_CAPTURE(layer, grad_input, kGradInput)->Apply(one_thread);
BENCHMARK_CAPTURE(layer, grad_input, kGradInput)->Apply(two_threads);
BENCHMARK_CAPTURE(layer, grad_weight, kGradWeight)->Apply(one_thread);
BENCHMARK_CAPTURE(layer, grad_weight, kGradWeight)->Apply(two_threads);
BENCHMARK_CAPTURE(layer, grad_weight_accumulate, kGradWeightAccumulate)->Apply(one_thread);
BENCHMARK_CAPTURE(layer, grad_weight_accumulate, kGradWeightAccumulate)->Apply(two_threads);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
