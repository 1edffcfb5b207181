#include "framework/train/trainer.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/sha256.h"
#include "framework/train/initial_values.h"

namespace tidemark::train {
namespace {

template <class T>
T* find_external(const runtime::Executor& executor, const compile::Body& body, std::string_view name) {
  const auto found = std::ranges::find(body.externals, name, &compile::Tensor::name);
  return found == body.externals.end() ? nullptr : reinterpret_cast<T*>(executor.address(*found));
}

}  // namespace

Trainer::Trainer(runtime::Executor& executor, const data::DataInfo& data, const optim::Optimizer& optimizer,
                 optim::Schedule schedule, BatchPlan batch, PackedBodies* packed)
    : executor_(executor),
      data_(data),
      optimizer_(optimizer),
      schedule_(std::move(schedule)),
      batch_(batch),
      packed_(packed) {
  TM_CHECK(batch_.packed() == (packed_ != nullptr), "packed data has bodies of its own, other data has none");
  const char* training = batch_.accumulates() ? "micro_batch" : "step";
  const auto bind_sizes = [&](const char* what, std::vector<BoundBody>& to, const std::vector<int64_t>& sizes) {
    for (int64_t n : sizes)
      if (executor_.program().find_body(body_name(what, n)) != nullptr &&
          std::ranges::find(to, n, &BoundBody::samples) == to.end())
        to.push_back(bind(body_name(what, n), n));
  };
  for (const int64_t samples : {batch_.global_batch, batch_.train_samples % batch_.global_batch})
    bind_sizes(training, training_, batch_.micro_batches(samples));
  bind_sizes("evaluate", evaluation_, batch_.evaluation_micro_batches());
  if (batch_.accumulates()) {
    begin_ = bind("begin", 0);
    update_ = bind("update", 0);
  }
  if (packed_ != nullptr) packed_inputs_ = bind_segments();
  const compile::Program& program = executor_.program();
  counts_correct_ = (packed_ != nullptr ? program.body(body_name("micro_batch", widest_training(batch_)))
                                        : program.bodies[training_.front().index])
                        .results.size() > 1;
}

Trainer::BoundBody Trainer::bind_segments() const {
  BoundBody bound;
  for (const compile::Tensor& tensor : executor_.program().step) {
    std::byte* bytes = executor_.address(tensor);
    if (tensor.name == kStepState) bound.step_state = reinterpret_cast<int32_t*>(bytes);
    if (tensor.name == kLossWeight) bound.loss_weight = reinterpret_cast<float*>(bytes);
  }
  return bound;
}

Trainer::BoundBody Trainer::bind(const std::string& name, int64_t samples) const {
  const compile::Body& body = executor_.program().body(name);
  BoundBody bound;
  bound.index = static_cast<size_t>(&body - executor_.program().bodies.data());
  bound.samples = samples;
  for (const data::InputField& field : data_.fields)
    bound.fields.push_back(find_external<std::byte>(executor_, body, input_name(field)));
  bound.sample_ids = find_external<int32_t>(executor_, body, kSampleIds);
  bound.step_state = find_external<int32_t>(executor_, body, kStepState);
  bound.loss_weight = find_external<float>(executor_, body, kLossWeight);
  bound.loss_before = find_external<float>(executor_, body, kLossBefore);
  bound.hyper = find_external<float>(executor_, body, kHyper);
  for (const compile::Tensor& result : body.results)
    bound.results.push_back(reinterpret_cast<const float*>(executor_.address(result)));
  return bound;
}

const Trainer::BoundBody& Trainer::bound(const std::vector<BoundBody>& bodies, int64_t samples) const {
  const auto found = std::ranges::find(bodies, samples, &BoundBody::samples);
  TM_CHECK(found != bodies.end(), "no body for a micro-batch of " + std::to_string(samples));
  return *found;
}

void Trainer::initialise(const std::map<std::string, models::Initializer>& initializers) {
  for (const PersistentBytes& p : persistent()) {
    const auto found = initializers.find(p.tensor->name);
    TM_CHECK(found != initializers.end() || p.tensor->category == Category::optimizer,
             "no initial value for '" + p.tensor->name + "'");
    write_initial_value(found == initializers.end() ? models::Initializer{} : found->second, p.tensor->name,
                        p.tensor->type, batch_.seed, p.bytes);
  }
}

void Trainer::load(const BoundBody& body, const data::HostBatch& batch, int64_t first) const {
  for (size_t f = 0; f < data_.fields.size(); ++f) {
    if (body.fields[f] == nullptr) continue;
    const int64_t row = data_.fields[f].sample.bytes();
    std::memcpy(body.fields[f], batch.fields[f].data() + first * row, static_cast<size_t>(body.samples * row));
  }
  if (body.sample_ids != nullptr)
    for (int64_t i = 0; i < body.samples; ++i) body.sample_ids[i] = static_cast<int32_t>(first + i);
}

void Trainer::write_step_inputs(const BoundBody& body, int64_t targets) const {
  const auto step = static_cast<uint64_t>(steps_done_);
  if (body.step_state != nullptr) {
    body.step_state[0] = static_cast<int32_t>(step);
    body.step_state[1] = static_cast<int32_t>(step >> 32);
  }
  if (body.loss_weight != nullptr) *body.loss_weight = 1.0F / static_cast<float>(std::max<int64_t>(targets, 1));
  if (body.hyper != nullptr)
    optimizer_.write_hyper(steps_done_, schedule_.at(steps_done_),
                           {body.hyper, static_cast<size_t>(optimizer_.hyper_size())});
}

void Trainer::run_micro_batches(const std::vector<BoundBody>& bodies, const data::HostBatch& batch, double& loss,
                                double& correct) {
  for (int64_t first = 0; first < batch.samples; first += batch_.micro_batch) {
    const BoundBody& body = bound(bodies, std::min(batch_.micro_batch, batch.samples - first));
    write_step_inputs(body, batch.targets);
    load(body, batch, first);
    if (body.loss_before != nullptr) *body.loss_before = static_cast<float>(loss);
    executor_.run(body.index);
    loss = *body.results[0] + (body.loss_before != nullptr ? 0.0 : loss);
    if (body.results.size() > 1) correct += *body.results[1];
  }
}

void Trainer::run_parts(PackedBodies::Pass pass, const data::HostBatch& batch, double& loss, double& correct) {
  write_step_inputs(*packed_inputs_, batch.targets);
  for (const data::PackedPart& part : batch.parts) {
    const PackedBodies::Sums sums = packed_->run(pass, batch, part);
    loss += sums.loss;
    correct += sums.correct;
  }
}

void Trainer::evaluate_parts(const data::HostBatch& batch, double& loss, double& correct) {
  try {
    double batch_loss = 0, batch_correct = 0;
    run_parts(PackedBodies::Pass::evaluation, batch, batch_loss, batch_correct);
    loss += batch_loss;
    correct += batch_correct;
    return;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  const PackedBodies::InOneBlock in_one_block(*packed_);
  run_parts(PackedBodies::Pass::evaluation, batch, loss, correct);
}

StepResult Trainer::step(const data::HostBatch& batch) {
  if (packed_ == nullptr) return run_step(batch);
  try {
    return run_step(batch);
  } catch (const Error& error) {
    // Only micro-batches ask for memory, and a step begins with gradients of zero: nothing of this attempt is left.
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  const PackedBodies::InOneBlock in_one_block(*packed_);
  return run_step(batch);
}

StepResult Trainer::run_step(const data::HostBatch& batch) {
  StepResult result;
  double correct = 0;
  if (begin_) executor_.run(begin_->index);
  if (packed_ != nullptr) {
    run_parts(PackedBodies::Pass::training, batch, result.loss, correct);
  } else {
    run_micro_batches(training_, batch, result.loss, correct);
  }
  if (update_) {
    write_step_inputs(*update_, batch.targets);
    executor_.run(update_->index);
    if (!update_->results.empty()) result.gradient_norm = *update_->results[0];
  }
  if (counts_correct_) result.correct = correct / static_cast<double>(batch.samples);
  ++steps_done_;
  return result;
}

EvalResult Trainer::evaluate(data::Loader& loader, int64_t samples) {
  EvalResult result;
  double loss = 0, correct = 0;
  int64_t targets = 0;
  while (result.samples < samples) {
    const data::HostBatch& batch = loader.next();
    double batch_loss = 0;
    if (packed_ != nullptr) {
      evaluate_parts(batch, batch_loss, correct);
    } else {
      run_micro_batches(evaluation_, batch, batch_loss, correct);
    }
    loss += batch_loss * static_cast<double>(batch.targets);
    targets += batch.targets;
    result.samples += batch.samples;
  }
  result.loss = loss / static_cast<double>(std::max<int64_t>(targets, 1));
  if (counts_correct_) result.accuracy = correct / static_cast<double>(std::max<int64_t>(result.samples, 1));
  return result;
}

std::vector<Trainer::PersistentBytes> Trainer::persistent() const {
  std::vector<PersistentBytes> all;
  for (const compile::Tensor& tensor : executor_.program().persistent)
    all.push_back({&tensor, {executor_.address(tensor), static_cast<size_t>(tensor.bytes())}});
  return all;
}

std::string Trainer::parameters_sha256() const {
  auto all = persistent();
  std::erase_if(all, [](const PersistentBytes& p) { return p.tensor->category != Category::weights; });
  std::ranges::sort(all, {}, [](const PersistentBytes& p) -> const std::string& { return p.tensor->name; });
  Sha256 hash;
  for (const PersistentBytes& p : all) hash.update(p.bytes.data(), p.bytes.size());
  return hash.finish_hex();
}

}  // namespace tidemark::train
