// GFLOP/s of the layers of a residual net on 28 x 28 images, 32 samples, one thread by the time of its CPU. Operands
// come from memory, as most do in a step: each run takes the next of several copies, which together are larger than a
// cache.
//   bazel build //ops/conv2d:conv2d_bench && bazel-bin/ops/conv2d/conv2d_bench
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <vector>

#include "ops/conv2d/conv2d.h"

namespace tidemark::ops {
namespace {

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Bytes = std::unique_ptr<std::byte, Free>;

Bytes filled_bytes(int64_t bytes) {
  Bytes data(static_cast<std::byte*>(std::aligned_alloc(64, static_cast<size_t>(bytes + 64) / 64 * 64)));
  float* values = reinterpret_cast<float*>(data.get());
  for (int64_t i = 0; i < bytes / 4; ++i) values[i] = 0.001f * static_cast<float>(i * 7919 % 1000 - 500);
  return data;
}

struct Operands {
  Bytes first, second, result;
};

constexpr int64_t kBytesBeyondCaches = 96 << 20;

enum Direction { kForward, kGradInput, kGradWeight };

OpDefinition definition(Direction direction) {
  return direction == kForward     ? conv2d_op()
         : direction == kGradInput ? conv2d_grad_input_op()
                                   : conv2d_grad_weight_op();
}

// Arguments: channels in, out, height and width, kernel, stride.
void layer(benchmark::State& state, Direction direction) {
  const int64_t in = state.range(0), out = state.range(1), size = state.range(2), kernel = state.range(3);
  const int64_t stride = state.range(4), pad = kernel / 2, out_size = (size + 2 * pad - kernel) / stride + 1;
  const ValueType x{DType::f32, {32, size, size, in}}, w{DType::f32, {out, in, kernel, kernel}};
  const ValueType y{DType::f32, {32, out_size, out_size, out}};
  Attributes attributes = {{"stride", stride}, {"pad", pad}};
  attributes.set("x_shape", x.shape.dims());
  attributes.set("w_shape", w.shape.dims());
  std::vector<std::optional<ValueType>> types = {x, w};
  if (direction == kGradInput) types = {y, w};
  if (direction == kGradWeight) types = {x, y};

  OpSet ops;
  const std::string name(definition(direction).op->name());
  ops.add(definition(direction));
  const OpCall call{attributes, types};
  const KernelChoice choice = ops.choose_kernel(name, KernelDevice::cpu, {call, 1});
  int64_t second_bytes = types[1]->bytes();
  for (const PackedInput& packed : choice.kernel->packed_inputs()) second_bytes = packed.bytes;
  const int64_t result_bytes = ops.table().find(name).outputs(call)[0].type.bytes();
  std::vector<Operands> copies;
  for (int64_t bytes = 0; bytes < kBytesBeyondCaches; bytes += types[0]->bytes() + second_bytes + result_bytes)
    copies.push_back({filled_bytes(types[0]->bytes()), filled_bytes(second_bytes), filled_bytes(result_bytes)});
  Bytes workspace = filled_bytes(choice.kernel->workspace_bytes());
  size_t turn = 0;
  for (auto _ : state) {
    const Operands& next = copies[turn++ % copies.size()];
    const void* inputs[] = {next.first.get(), next.second.get()};
    void* outputs[] = {next.result.get()};
    choice.kernel->run({.inputs = inputs, .outputs = outputs, .workspace = workspace.get()});
  }
  const double flops = ops.table().find(name).cost(call).flops;
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flops * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
}

void residual_net(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"in", "out", "size", "kernel", "stride"})->MeasureProcessCPUTime();
  bench->Args({1, 16, 28, 3, 1})->Args({16, 16, 28, 3, 1});
  bench->Args({16, 32, 28, 3, 2})->Args({16, 32, 28, 1, 2})->Args({32, 32, 14, 3, 1});
  bench->Args({32, 64, 14, 3, 2})->Args({32, 64, 14, 1, 2})->Args({64, 64, 7, 3, 1});
}

BENCHMARK_CAPTURE(layer, forward, kForward)->Apply(residual_net);
BENCHMARK_CAPTURE(layer, grad_input, kGradInput)->Apply(residual_net);
BENCHMARK_CAPTURE(layer, grad_weight, kGradWeight)->Apply(residual_net);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
