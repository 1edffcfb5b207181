#include "framework/train/packed_bodies.h"

#include <fmt/format.h>

#include <algorithm>

#include "framework/compile/unplaced_body.h"

namespace tidemark::train {
namespace {

// What does not lie in a body's own blocks.
std::vector<std::string> segment_names(const compile::Program& program) {
  std::vector<std::string> names;
  for (const auto* segment : {&program.persistent, &program.step})
    for (const compile::Tensor& tensor : *segment) names.push_back(tensor.name);
  return names;
}

std::span<std::byte> bytes_of(float& value) { return std::as_writable_bytes(std::span(&value, 1)); }

}  // namespace

PackedBodies::PackedBodies(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                           const OpTable& ops, const runtime::Executor& segments, runtime::DynamicExecutor& dynamic)
    : model_(model), data_(data), batch_(batch), ops_(ops), dynamic_(dynamic) {
  const compile::Program& program = segments.program();
  for (const auto* segment : {&program.persistent, &program.step})
    for (const compile::Tensor& tensor : *segment) bindings_.placed.push_back({tensor.name, segments.address(tensor)});
  for (const data::InputField& field : data_.fields) bindings_.inputs.push_back({input_name(field), {}});
  bindings_.inputs.push_back({kSampleIds, {}});
  const compile::Body& widest = program.body(body_name("micro_batch", widest_training(batch_)));
  bindings_.outputs.push_back({widest.results[0].name, bytes_of(sums_.loss)});
  if (widest.results.size() > 1) bindings_.outputs.push_back({widest.results[1].name, bytes_of(sums_.correct)});
}

void PackedBodies::bind_part(const data::HostBatch& batch, const data::PackedPart& part) {
  for (size_t f = 0; f < data_.fields.size(); ++f) {
    const data::InputField& field = data_.fields[f];
    const int64_t first = field.per_row ? part.first_row : part.first_sample;
    const int64_t count = field.per_row ? part.rows : part.samples;
    const int64_t bytes = field.sample.bytes();
    bindings_.inputs[f].bytes =
        std::span(batch.fields[f]).subspan(static_cast<size_t>(first * bytes), static_cast<size_t>(count * bytes));
  }
  const auto ids =
      std::span(batch.sample_ids).subspan(static_cast<size_t>(part.first_sample), static_cast<size_t>(part.samples));
  bindings_.inputs.back().bytes = std::as_bytes(ids);
}

PackedBodies::Sums PackedBodies::run(Pass pass, const data::HostBatch& batch, const data::PackedPart& part) {
  bind_part(batch, part);
  sums_ = {};
  const bool training = pass == Pass::training;
  const BodyShape shape{part.samples, part.rows};
  char key[64];  // as body_name(), without the heap
  const char* end =
      fmt::format_to_n(key, sizeof key, "{}[{}x{}]", training ? "micro_batch" : "evaluate", part.samples, part.rows)
          .out;
  const auto make = [&] {
    return training ? micro_batch_body(model_, data_, batch_, ops_, shape)
                    : evaluation_body(model_, data_, batch_, ops_, shape);
  };
  dynamic_.run({key, static_cast<size_t>(end - key)}, std::ref(make), bindings_);
  return sums_;
}

int64_t widest_block_bytes(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                           const ops::OpSet& ops, const compile::Program& program,
                           const runtime::DynamicOptions& options) {
  const std::vector<std::string> placed = segment_names(program);
  const auto block_bytes = [&](compile::BodySpec body) {
    return plan_block(compile::compile_unplaced(std::move(body), placed, ops, options.compile), options).peak_bytes;
  };
  int64_t bytes = block_bytes(micro_batch_body(model, data, batch, ops.table(), widest_training(batch)));
  if (batch.eval_samples > 0)
    bytes = std::max(bytes, block_bytes(evaluation_body(model, data, batch, ops.table(), widest_evaluation(batch))));
  return bytes;
}

}  // namespace tidemark::train
