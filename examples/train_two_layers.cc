// A net of two layers built node by node, differentiated, compiled into an arena and trained on a noisy circle: what
// `tidemark train` does, without configuration, data files or a model class.
//
//   bazel run //examples:train_two_layers
#include <cstdio>

#include "base/bytes.h"
#include "base/philox.h"
#include "device/host_memory.h"
#include "framework/compile/compile.h"
#include "framework/optim/optimizer.h"
#include "framework/runtime/executor.h"
#include "graph/autodiff.h"
#include "memory/arena/arena.h"
#include "ops/all_ops.h"

using namespace tidemark;

namespace {

constexpr int64_t kBatch = 64, kHidden = 32;
constexpr int kSteps = 400;

// One body: forward, backward and the updates, which run in place as soon as each gradient is complete.
Graph build_step(const OpTable& ops, const optim::Optimizer& optimizer) {
  Graph graph("step");
  Builder b(graph, ops);
  const ValueId points = b.external("points", {DType::f32, Shape{kBatch, 2}}, Category::input, Scope::micro_batch);
  const ValueId labels = b.external("labels", {DType::i32, Shape{kBatch}}, Category::input, Scope::micro_batch);
  const ValueId loss_weight = b.external("loss_weight", {DType::f32, Shape{1}}, Category::input, Scope::step);
  const ValueId hyper = b.external("hyper", {DType::f32, Shape{optimizer.hyper_size()}}, Category::input, Scope::step);
  const auto layer = [&](const char* name, ValueId x, int64_t in, int64_t out, const char* activation) {
    auto scope = b.scope(name);
    const ValueId w = b.parameter("weight", {DType::f32, Shape{out, in}});
    const ValueId bias = b.parameter("bias", {DType::f32, Shape{out}});
    return b.op("matmul", "product", {x, w, bias}, {{"activation", std::string(activation)}});
  };
  const ValueId hidden = layer("hidden", points, 2, kHidden, "relu");
  const ValueId logits = layer("head", hidden, kHidden, 2, "none");
  const auto outputs = b.node("softmax_cross_entropy", "loss", {logits, labels, loss_weight});
  b.result(outputs[0]);
  b.result(outputs[1]);
  for (const auto& [parameter, gradient] : append_backward(graph, ops, outputs[0]).of)
    optimizer.append_update(b, {parameter, gradient}, hyper, ValueId());
  return graph;
}

float* data_of(const runtime::Executor& executor, const compile::Tensor& tensor) {
  return reinterpret_cast<float*>(executor.address(tensor));
}

// Points in [-1, 1)^2; the label says whether the point lies in the circle of radius 0.7.
void load_batch(const runtime::Executor& executor, const compile::Body& body, uint32_t step) {
  float* points = data_of(executor, body.external("points"));
  auto* labels = reinterpret_cast<int32_t*>(executor.address(body.external("labels")));
  for (uint32_t i = 0; i < kBatch; ++i) {
    const Philox4 bits = random_block({.seed = 1, .step = step, .sample = i}, 0);
    const float x = 2 * uniform_float(bits.word[0]) - 1, y = 2 * uniform_float(bits.word[1]) - 1;
    points[2 * i] = x;
    points[2 * i + 1] = y;
    labels[i] = x * x + y * y < 0.49F ? 1 : 0;
  }
}

void initialise(const runtime::Executor& executor) {
  uint32_t tensor = 0;
  for (const compile::Tensor& t : executor.program().persistent) {
    float* data = data_of(executor, t);
    for (int64_t i = 0; i < t.type.shape.elements(); ++i) {
      const Philox4 bits = random_block({.seed = 2, .op = tensor}, static_cast<uint32_t>(i));
      data[i] = t.category == Category::weights ? uniform_float(bits.word[0]) - 0.5F : 0.0F;
    }
    ++tensor;
  }
}

}  // namespace

int main() {
  const ops::OpSet ops = ops::all_ops();
  const auto optimizer = optim::make_optimizer("adamw", {});
  std::vector<compile::BodySpec> bodies;
  bodies.push_back({"step", build_step(ops.table(), *optimizer)});
  const compile::Program program = compile::compile(std::move(bodies), ops, {.name = "two_layers"});

  HostMemory device;
  memory::Arena arena(device, program.arena_bytes);
  arena.ensure(program.arena_bytes);
  runtime::Executor executor(program, arena.data());
  initialise(executor);
  const compile::Body& body = program.body("step");
  std::printf("arena %s, lower bound %s, %zu instructions\n", format_bytes(program.arena_bytes).c_str(),
              format_bytes(program.lower_bound_bytes).c_str(), body.instructions.size());
  for (int step = 0; step < kSteps; ++step) {
    load_batch(executor, body, static_cast<uint32_t>(step));
    *data_of(executor, body.external("loss_weight")) = 1.0F / kBatch;
    optimizer->write_hyper(step, 1e-2, {data_of(executor, body.external("hyper")), 4});
    executor.run(0);
    if (step % 100 == 99)
      std::printf("step %d loss %.4f right %2.0f of %d\n", step + 1,
                  static_cast<double>(*data_of(executor, body.results[0])),
                  static_cast<double>(*data_of(executor, body.results[1])), static_cast<int>(kBatch));
  }
  return 0;
}
