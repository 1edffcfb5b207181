// Lines of a word list, packed: ten rows a sample on average. One thread is timed by its own CPU time.
//   bazel build //ops/lstm:lstm_bench && bazel-bin/ops/lstm/lstm_bench
#include <benchmark/benchmark.h>

#include <memory>

#include "ops/lstm/lstm.h"

namespace tidemark::ops {
namespace {

// Lengths from 19 down to 1.
std::vector<int32_t> falling(int64_t samples) {
  std::vector<int32_t> lengths;
  for (int64_t i = 0; i < samples; ++i) lengths.push_back(static_cast<int32_t>(19 - i * 19 / samples));
  return lengths;
}

// Not ops/bench's: lengths are given, and outputs lie on memory of their own. In place, each run's gradients would be
// the next run's gates, and become denormal, which is slow.
class Bench {
 public:
  Bench(OpDefinition definition, std::vector<std::optional<ValueType>> types, const std::vector<int32_t>& lengths,
        int threads)
      : types_(std::move(types)), lengths_(lengths) {
    ops_.add(std::move(definition));
    const std::string op(ops_.table().names().front());
    const OpCall call{attributes_, types_};
    choice_ = ops_.choose_kernel(op, KernelDevice::cpu, {call, threads});
    flops_ = ops_.table().find(op).cost(call).flops;
    for (const auto& type : types_) {
      inputs_.push_back(type->dtype == DType::i32 ? static_cast<const void*>(lengths_.data())
                                                  : allocate(type->bytes()));
    }
    for (const OutputSpec& spec : ops_.table().find(op).outputs(call)) outputs_.push_back(allocate(spec.type.bytes()));
    workspace_ = static_cast<std::byte*>(allocate(choice_.kernel->workspace_bytes()));
  }

  void measure(benchmark::State& state) const {
    for (auto _ : state) choice_.kernel->run({inputs_, outputs_, workspace_});
    state.counters["GFLOP/s"] =
        benchmark::Counter(1e-9 * flops_ * static_cast<double>(state.iterations()), benchmark::Counter::kIsRate);
    state.counters["workspace"] = static_cast<double>(choice_.kernel->workspace_bytes());
  }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };

  void* allocate(int64_t bytes) {
    const int64_t rounded = (bytes + 64) / 64 * 64;
    memory_.emplace_back(std::aligned_alloc(64, static_cast<size_t>(rounded)));
    float* floats = static_cast<float*>(memory_.back().get());
    for (int64_t i = 0; i < rounded / 4; ++i) floats[i] = 0.01f * static_cast<float>(i % 13 - 6);
    return floats;
  }

  OpSet ops_;
  Attributes attributes_;
  std::vector<std::optional<ValueType>> types_;
  std::vector<int32_t> lengths_;
  KernelChoice choice_;
  double flops_ = 0;
  std::vector<std::unique_ptr<void, Free>> memory_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::byte* workspace_ = nullptr;
};

struct Types {
  explicit Types(const benchmark::State& state)
      : lengths(falling(state.range(0))), hidden(state.range(1)), batch{DType::i32, {state.range(0)}} {
    int64_t sum = 0;
    for (const int32_t length : lengths) sum += length;
    rows = {DType::f32, {sum, hidden}};
    gates = {DType::f32, {sum, 4 * hidden}};
    weight = {DType::f32, {4 * hidden, hidden}};
  }
  std::vector<int32_t> lengths;
  int64_t hidden;
  ValueType batch, rows, gates, weight;
};

// Arguments: samples, hidden units, threads.
void forward(benchmark::State& state) {
  const Types t(state);
  Bench(lstm_op(), {t.gates, t.weight, t.batch}, t.lengths, static_cast<int>(state.range(2))).measure(state);
}

void backward(benchmark::State& state) {
  const Types t(state);
  Bench(lstm_grad_op(), {t.rows, t.gates, t.rows, t.weight, t.batch}, t.lengths, static_cast<int>(state.range(2)))
      .measure(state);
}

void weight(benchmark::State& state) {
  const Types t(state);
  Bench(lstm_grad_weight_op(), {t.rows, t.gates, t.batch}, t.lengths, static_cast<int>(state.range(2))).measure(state);
}

void shapes(benchmark::internal::Benchmark* benchmark, int64_t threads) {
  benchmark->ArgNames({"samples", "hidden", "threads"})->Unit(benchmark::kMillisecond);
  for (const int64_t samples : {64, 256}) {
    for (const int64_t hidden : {128, 256}) benchmark->Args({samples, hidden, threads});
  }
}
void one_thread(benchmark::internal::Benchmark* benchmark) { shapes(benchmark, 1); }
void two_threads(benchmark::internal::Benchmark* benchmark) { shapes(benchmark->UseRealTime(), 2); }

BENCHMARK(forward)->Apply(one_thread);
BENCHMARK(forward)->Apply(two_threads);
BENCHMARK(backward)->Apply(one_thread);
BENCHMARK(backward)->Apply(two_threads);
BENCHMARK(weight)->Apply(one_thread);
BENCHMARK(weight)->Apply(two_threads);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
