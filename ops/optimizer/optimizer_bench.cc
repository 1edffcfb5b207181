// AdamW on tensors far larger than the caches, beside a copy of as many bytes: both are bound by memory.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "base/parallel.h"
#include "ops/optimizer/optimizer.h"

namespace tidemark::ops {
namespace {

constexpr int64_t kElements = 16 << 20;

void BM_AdamwUpdate(benchmark::State& state) {
  const ValueType type{DType::f32, {kElements}};
  const std::optional<ValueType> types[] = {type, type, type, type, ValueType{DType::f32, {4}}};
  const Attributes attributes{{"beta1", 0.9}, {"beta2", 0.95}, {"eps", 1e-8}, {"weight_decay", 0.1}};
  OpSet ops;
  ops.add(adamw_update_op());
  const KernelRequest request{{attributes, types}, static_cast<int>(state.range(0))};
  const KernelChoice choice = ops.choose_kernel("adamw_update", KernelDevice::cpu, request);
  std::vector<float> param(kElements, 0.1f), grad(kElements, 0.01f), m(kElements, 0.0f), v(kElements, 0.0f);
  const float hyper[4] = {1e-4f, 2.0f, 3.0f, 0.0f};
  const void* inputs[] = {param.data(), grad.data(), m.data(), v.data(), hyper};
  void* outputs[] = {param.data(), m.data(), v.data()};
  for (auto _ : state) choice.kernel->run({inputs, outputs});
  state.SetBytesProcessed(state.iterations() * 7 * type.bytes());
}
BENCHMARK(BM_AdamwUpdate)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

void BM_Copy(benchmark::State& state) {
  std::vector<float> from(kElements, 1.0f), to(kElements, 2.0f);
  for (auto _ : state) {
    parallel_for(static_cast<int>(state.range(0)), kElements, [&](int64_t begin, int64_t end, int) {
      std::memcpy(to.data() + begin, from.data() + begin, static_cast<size_t>(end - begin) * sizeof(float));
    });
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * 2 * kElements * static_cast<int64_t>(sizeof(float)));
}
BENCHMARK(BM_Copy)->Arg(1)->Arg(2)->UseRealTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tidemark::ops

BENCHMARK_MAIN();
