#include "framework/train/training_program.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "graph/autodiff.h"

namespace tidemark::train {

std::vector<int64_t> BatchPlan::micro_batches(int64_t samples) const {
  std::vector<int64_t> sizes(static_cast<size_t>(samples / micro_batch), micro_batch);
  if (samples % micro_batch != 0) sizes.push_back(samples % micro_batch);
  return sizes;
}

std::string input_name(const data::InputField& field) { return "input/" + field.name; }

std::string body_name(std::string_view what, int64_t samples) {
  return std::string(what) + "[" + std::to_string(samples) + "]";
}

namespace {

ValueType batch_type(const data::InputField& field, int64_t batch) {
  std::vector<int64_t> dims{batch};
  const auto& sample = field.sample.shape.dims();
  dims.insert(dims.end(), sample.begin(), sample.end());
  return {field.sample.dtype, Shape(std::move(dims))};
}

class GraphMaker {
 public:
  GraphMaker(const models::Model& model, const data::DataInfo& data, const optim::Optimizer& optimizer,
             const BatchPlan& batch, const OpTable& ops)
      : model_(model), data_(data), optimizer_(optimizer), batch_(batch), ops_(ops) {}

  TrainingGraphs make() {
    std::set<int64_t, std::greater<>> sizes;  // the largest first: the others then find all names placed
    for (int64_t samples : {batch_.global_batch, batch_.train_samples % batch_.global_batch})
      if (samples <= batch_.train_samples)
        for (int64_t n : batch_.micro_batches(samples)) sizes.insert(n);
    for (int64_t n : sizes) batch_.accumulates() ? add_micro_batch(n) : add_step(n);
    if (batch_.accumulates()) {
      add_update();
      add_begin();
    }
    std::set<int64_t, std::greater<>> eval_sizes;
    for (int64_t n : batch_.micro_batches(batch_.eval_samples)) eval_sizes.insert(n);
    for (int64_t n : eval_sizes) add_evaluate(n);
    add_checkpoint();
    return std::move(out_);
  }

 private:
  struct Forward {
    models::ModelOutputs outputs;
    std::vector<ValueId> parameters;  // in order of declaration
  };

  Forward forward(models::ModelBuilder& builder, int64_t samples, bool training) {
    models::ModelRequest request{
        .data = data_, .batch = samples, .training = training, .norm_batch = batch_.norm_batch, .seed = batch_.seed};
    for (const data::InputField& field : data_.fields)
      request.inputs.push_back(
          builder.external(input_name(field), batch_type(field, samples), Category::input, Scope::micro_batch));
    request.sample_ids =
        builder.external(kSampleIds, {DType::i32, Shape{samples}}, Category::input, Scope::micro_batch);
    request.step_state = builder.external(kStepState, {DType::i32, Shape{2}}, Category::input, Scope::step);
    request.loss_weight = builder.external(kLossWeight, {DType::f32, Shape{1}}, Category::input, Scope::step);
    Forward result{model_.build(builder, request), {}};
    builder.result(result.outputs.loss);
    if (result.outputs.correct) builder.result(*result.outputs.correct);
    for (const Value& value : builder.graph().values())
      if (value.category == Category::weights && value.external()) result.parameters.push_back(value.id);
    out_.initializers.insert(builder.initializers().begin(), builder.initializers().end());
    return result;
  }

  ValueId hyper(Builder& builder) const {
    return builder.external(kHyper, {DType::f32, Shape{optimizer_.hyper_size()}}, Category::input, Scope::step);
  }

  void add_step(int64_t samples) {
    Graph graph(body_name("step", samples));
    models::ModelBuilder builder(graph, ops_);
    const Forward f = forward(builder, samples, true);
    const Gradients gradients = append_backward(graph, ops_, f.outputs.loss);
    const ValueId step_hyper = hyper(builder);
    for (ValueId parameter : f.parameters)
      if (const auto found = gradients.of.find(parameter); found != gradients.of.end())
        optimizer_.append_update(builder, {parameter, found->second}, step_hyper, ValueId());
    add(std::move(graph), false);
  }

  void add_micro_batch(int64_t samples) {
    Graph graph(body_name("micro_batch", samples));
    models::ModelBuilder builder(graph, ops_);
    const Forward f = forward(builder, samples, true);
    AutodiffOptions options;
    for (ValueId parameter : f.parameters) {
      const Value value = graph.value(parameter);
      options.accumulators[parameter] =
          builder.external(value.name + "/gradient", value.type, Category::gradients, Scope::step);
    }
    const Gradients gradients = append_backward(graph, ops_, f.outputs.loss, options);
    if (parameters_.empty())
      for (ValueId parameter : f.parameters)
        if (gradients.of.contains(parameter)) parameters_.push_back(graph.value(parameter));
    add(std::move(graph), true);
  }

  std::vector<ValueId> gradient_externals(Builder& builder) const {
    std::vector<ValueId> ids;
    for (const Value& parameter : parameters_)
      ids.push_back(builder.external(parameter.name + "/gradient", parameter.type, Category::gradients, Scope::step));
    return ids;
  }

  void add_begin() {
    Graph graph("begin");
    Builder builder(graph, ops_);
    for (ValueId gradient : gradient_externals(builder))
      builder.op("fill", graph.value(gradient).name + "/zero", {gradient}, {{"value", 0.0}});
    add(std::move(graph), true);
  }

  void add_update() {
    Graph graph("update");
    Builder builder(graph, ops_);
    const auto gradients = gradient_externals(builder);
    const ValueId step_hyper = hyper(builder);
    const ValueId scale = batch_.clip_norm > 0.0 ? clip(builder, gradients) : ValueId();
    for (size_t i = 0; i < parameters_.size(); ++i) {
      const ValueId parameter = builder.parameter(parameters_[i].name, parameters_[i].type);
      optimizer_.append_update(builder, {parameter, gradients[i]}, step_hyper, scale);
    }
    add(std::move(graph), true);
  }

  ValueId clip(Builder& builder, const std::vector<ValueId>& gradients) const {
    std::vector<ValueId> norms;
    for (ValueId gradient : gradients)
      norms.push_back(builder.op("squared_norm", builder.graph().value(gradient).name + "/squared_norm", {gradient}));
    const auto outputs = builder.node("clip_scale", "clip", norms, {{"max_norm", batch_.clip_norm}});
    builder.result(outputs[1]);
    return outputs[0];
  }

  void add_evaluate(int64_t samples) {
    Graph graph(body_name("evaluate", samples));
    models::ModelBuilder builder(graph, ops_);
    forward(builder, samples, false);
    add(std::move(graph), false);
  }

  void add_checkpoint() { add(Graph("checkpoint"), false); }

  void add(Graph graph, bool shares_step_segment) {
    std::string name = graph.name();
    out_.bodies.push_back({std::move(name), std::move(graph), shares_step_segment});
  }

  const models::Model& model_;
  const data::DataInfo& data_;
  const optim::Optimizer& optimizer_;
  const BatchPlan& batch_;
  const OpTable& ops_;
  TrainingGraphs out_;
  std::vector<Value> parameters_;  // with a gradient, as declared by the first body
};

}  // namespace

TrainingGraphs build_training_graphs(const models::Model& model, const data::DataInfo& data,
                                     const optim::Optimizer& optimizer, const BatchPlan& batch, const OpTable& ops) {
  TM_CHECK(batch.micro_batch >= 1 && batch.micro_batch <= batch.global_batch, "micro-batch within the global batch");
  return GraphMaker(model, data, optimizer, batch, ops).make();
}

}  // namespace tidemark::train
