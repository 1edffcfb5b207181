#include "framework/train/peak_body.h"

#include <tuple>

namespace tidemark::train {
namespace {

int64_t pages(const compile::Body& body, int64_t page_bytes) { return (body.peak_bytes + page_bytes - 1) / page_bytes; }

}  // namespace

std::map<std::string, int64_t> body_runs(const BatchPlan& batch) {
  std::map<std::string, int64_t> runs;
  if (batch.packed()) return runs;
  const auto add_steps = [&](int64_t samples, int64_t steps) {
    if (samples == 0 || steps == 0) return;
    for (const int64_t n : batch.micro_batches(samples))
      runs[body_name(batch.accumulates() ? "micro_batch" : "step", n)] += steps;
    if (batch.accumulates())
      for (const char* name : {"begin", "update"}) runs[name] += steps;
  };
  add_steps(batch.global_batch, batch.train_samples / batch.global_batch);
  add_steps(batch.train_samples % batch.global_batch, 1);
  for (const int64_t n : batch.evaluation_micro_batches()) ++runs[body_name("evaluate", n)];
  return runs;
}

void choose_peak_body(compile::Program& program, const BatchPlan& batch, int64_t page_bytes) {
  const std::map<std::string, int64_t> runs = body_runs(batch);
  const auto rank = [&](const compile::Body& body) {
    const auto found = runs.find(body.name);
    return std::tuple(pages(body, page_bytes), found == runs.end() ? int64_t{0} : found->second, body.peak_bytes);
  };
  size_t best = program.peak_body;
  for (size_t b = 0; b < program.bodies.size(); ++b)
    if (rank(program.bodies[b]) > rank(program.bodies[best])) best = b;
  program.set_peak_body(best);
}

}  // namespace tidemark::train
