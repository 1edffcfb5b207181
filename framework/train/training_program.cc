#include "framework/train/training_program.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "graph/autodiff.h"
#include "graph/sample_groups.h"

namespace tidemark::train {

std::vector<int64_t> BatchPlan::micro_batches(int64_t samples) const {
  std::vector<int64_t> sizes(static_cast<size_t>(samples / micro_batch), micro_batch);
  if (samples % micro_batch != 0) sizes.push_back(samples % micro_batch);
  return sizes;
}

std::vector<int64_t> BatchPlan::evaluation_micro_batches() const {
  const int64_t batch = eval_batch > 0 ? eval_batch : micro_batch;
  std::vector<int64_t> sizes;
  for (int64_t done = 0; done < eval_samples; done += batch)
    for (const int64_t n : micro_batches(std::min(batch, eval_samples - done))) sizes.push_back(n);
  return sizes;
}

std::string input_name(const data::InputField& field) { return "input/" + field.name; }

std::string body_name(std::string_view what, int64_t samples) {
  return std::string(what) + "[" + std::to_string(samples) + "]";
}

std::string body_name(std::string_view what, BodyShape shape) {
  if (shape.rows == 0) return body_name(what, shape.samples);
  return std::string(what) + "[" + std::to_string(shape.samples) + "x" + std::to_string(shape.rows) + "]";
}

BodyShape widest_training(const BatchPlan& batch) {
  return {std::min(batch.micro_batch, batch.train_samples), batch.train_rows};
}

BodyShape widest_evaluation(const BatchPlan& batch) {
  return {std::min(batch.micro_batch, batch.eval_samples), batch.eval_rows};
}

namespace {

ValueType batch_type(const data::InputField& field, BodyShape shape) {
  std::vector<int64_t> dims{field.per_row ? shape.rows : shape.samples};
  const auto& sample = field.sample.shape.dims();
  dims.insert(dims.end(), sample.begin(), sample.end());
  return {field.sample.dtype, Shape(std::move(dims))};
}

// A parameter and the sums that its gradient is made of over the micro-batches of a step.
struct TrainedParameter {
  Value value;
  int64_t sums = 1;
};

std::vector<ValueId> gradient_sums(Builder& builder, const TrainedParameter& parameter) {
  std::vector<ValueId> sums;
  for (int64_t i = 1; i <= parameter.sums; ++i) {
    const std::string name = parameter.value.name + "/gradient" + (i == 1 ? "" : "_" + std::to_string(i));
    sums.push_back(builder.external(name, parameter.value.type, Category::gradients, Scope::step));
  }
  return sums;
}

bool is_read(const Graph& graph, ValueId value) {
  return std::ranges::any_of(graph.order(),
                             [&](NodeId id) { return std::ranges::count(graph.node(id).inputs, value) > 0; });
}

// Forward passes, and what is appended to them.
class GraphMaker {
 public:
  GraphMaker(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch, const OpTable& ops)
      : model_(model), data_(data), batch_(batch), ops_(ops) {}

  struct Forward {
    models::ModelOutputs outputs;
    std::vector<ValueId> parameters;  // in order of declaration
  };

  Forward forward(models::ModelBuilder& builder, BodyShape shape, bool training) {
    models::ModelRequest request{.data = data_,
                                 .batch = shape.samples,
                                 .rows = shape.rows,
                                 .training = training,
                                 .norm_batch = batch_.norm_batch,
                                 .seed = batch_.seed};
    for (const data::InputField& field : data_.fields)
      request.inputs.push_back(
          builder.external(input_name(field), batch_type(field, shape), Category::input, Scope::micro_batch));
    request.sample_ids =
        builder.external(kSampleIds, {DType::i32, Shape{shape.samples}}, Category::input, Scope::micro_batch);
    request.step_state = builder.external(kStepState, {DType::i32, Shape{2}}, Category::input, Scope::step);
    request.loss_weight = builder.external(kLossWeight, {DType::f32, Shape{1}}, Category::input, Scope::step);
    if (batch_.sum_batch > 0)
      request.loss_before = builder.external(kLossBefore, {DType::f32, Shape{1}}, Category::input, Scope::micro_batch);
    Forward result{model_.build(builder, request), {}};
    TM_CHECK(!request.loss_before.valid() || is_read(builder.graph(), request.loss_before),
             "the model leaves loss_before out of its loss");
    builder.result(result.outputs.loss);
    if (result.outputs.correct) builder.result(*result.outputs.correct);
    for (const Value& value : builder.graph().values())
      if (value.category == Category::weights && value.external()) result.parameters.push_back(value.id);
    initializers_.insert(builder.initializers().begin(), builder.initializers().end());
    return result;
  }

  compile::BodySpec micro_batch(BodyShape shape) {
    Graph graph(body_name("micro_batch", shape));
    models::ModelBuilder builder(graph, ops_);
    const Forward f = forward(builder, shape, true);
    AutodiffOptions options;
    std::map<ValueId, int64_t> sums;
    for (ValueId parameter : f.parameters) {
      const Value value = graph.value(parameter);
      sums[parameter] = sums_of(graph, parameter);
      const std::vector<ValueId> accumulators = gradient_sums(builder, {value, sums[parameter]});
      options.accumulators[parameter] = accumulators.front();
      if (accumulators.size() > 1)
        options.further_accumulators[parameter].assign(accumulators.begin() + 1, accumulators.end());
    }
    const Gradients gradients = append_backward(graph, ops_, f.outputs.loss, options);
    sum_in_groups(graph, shape.samples);
    if (parameters_.empty())
      for (ValueId parameter : f.parameters)
        if (gradients.of.contains(parameter)) parameters_.push_back({graph.value(parameter), sums.at(parameter)});
    return {body_name("micro_batch", shape), std::move(graph), true};
  }

  // Where sums are made in groups, one for each node that reads the parameter: else two nodes' sums would take turns
  // with the micro-batches.
  int64_t sums_of(const Graph& graph, ValueId parameter) const {
    if (batch_.sum_batch == 0) return 1;
    return std::max<int64_t>(1, std::ranges::count_if(graph.order(), [&](NodeId id) {
                               return std::ranges::count(graph.node(id).inputs, parameter) > 0;
                             }));
  }

  compile::BodySpec evaluation(BodyShape shape) {
    Graph graph(body_name("evaluate", shape));
    models::ModelBuilder builder(graph, ops_);
    forward(builder, shape, false);
    sum_in_groups(graph, shape.samples);
    return {body_name("evaluate", shape), std::move(graph), false, false};
  }

  // Note [Sums of groups].
  void sum_in_groups(Graph& graph, int64_t samples) {
    if (batch_.sum_batch == 0 || !in_the_way_.empty()) return;
    const NodeId node = tidemark::sum_in_groups(graph, ops_, samples, batch_.sum_batch);
    if (node.valid()) in_the_way_ = "'" + graph.node(node).name + "' (" + graph.node(node).op + ")";
  }
  bool sums_in_groups() const { return batch_.sum_batch > 0 && in_the_way_.empty(); }
  const std::string& in_the_way() const { return in_the_way_; }

  // With a gradient, as declared by the first micro-batch.
  const std::vector<TrainedParameter>& parameters() const { return parameters_; }
  const std::map<std::string, models::Initializer>& initializers() const { return initializers_; }

 private:
  const models::Model& model_;
  const data::DataInfo& data_;
  const BatchPlan& batch_;
  const OpTable& ops_;
  std::map<std::string, models::Initializer> initializers_;
  std::vector<TrainedParameter> parameters_;
  std::string in_the_way_;  // of sums in groups: the first node of all bodies so far
};

// All bodies of a program.
class ProgramMaker {
 public:
  ProgramMaker(const models::Model& model, const data::DataInfo& data, const optim::Optimizer& optimizer,
               const BatchPlan& batch, const OpTable& ops)
      : optimizer_(optimizer), batch_(batch), ops_(ops), maker_(model, data, batch, ops) {}

  TrainingGraphs make() {
    for (BodyShape shape : training_shapes()) batch_.accumulates() ? add(maker_.micro_batch(shape)) : add_step(shape);
    if (batch_.accumulates()) {
      add_update();
      add_begin();
    }
    for (BodyShape shape : evaluation_shapes()) add(maker_.evaluation(shape));
    add({"checkpoint", Graph("checkpoint"), false});
    out_.initializers = maker_.initializers();
    out_.sums_in_groups = maker_.sums_in_groups();
    out_.in_the_way = maker_.in_the_way();
    return std::move(out_);
  }

 private:
  // The largest first: the others then find all names placed.
  static std::vector<BodyShape> shapes_of(const std::set<int64_t, std::greater<>>& sizes) {
    std::vector<BodyShape> shapes;
    for (int64_t n : sizes) shapes.push_back({n, 0});
    return shapes;
  }

  std::vector<BodyShape> training_shapes() const {
    if (batch_.packed()) return {widest_training(batch_)};
    std::set<int64_t, std::greater<>> sizes;
    for (int64_t samples : {batch_.global_batch, batch_.train_samples % batch_.global_batch})
      if (samples <= batch_.train_samples)
        for (int64_t n : batch_.micro_batches(samples)) sizes.insert(n);
    return shapes_of(sizes);
  }

  std::vector<BodyShape> evaluation_shapes() const {
    if (batch_.packed() && batch_.eval_samples > 0) return {widest_evaluation(batch_)};
    std::set<int64_t, std::greater<>> sizes;
    for (int64_t n : batch_.evaluation_micro_batches()) sizes.insert(n);
    return shapes_of(sizes);
  }

  ValueId hyper(Builder& builder) const {
    return builder.external(kHyper, {DType::f32, Shape{optimizer_.hyper_size()}}, Category::input, Scope::step);
  }

  void add_step(BodyShape shape) {
    Graph graph(body_name("step", shape));
    models::ModelBuilder builder(graph, ops_);
    const GraphMaker::Forward f = maker_.forward(builder, shape, true);
    const Gradients gradients = append_backward(graph, ops_, f.outputs.loss, {.sums_apart = batch_.sum_batch > 0});
    maker_.sum_in_groups(graph, shape.samples);
    const ValueId step_hyper = hyper(builder);
    for (ValueId parameter : f.parameters)
      if (const auto found = gradients.of.find(parameter); found != gradients.of.end())
        optimizer_.append_update(builder, {parameter, found->second}, step_hyper, ValueId());
    add({body_name("step", shape), std::move(graph), false});
  }

  // The whole gradient of each parameter.
  std::vector<ValueId> complete_gradients(Builder& builder) const {
    std::vector<ValueId> ids;
    for (const TrainedParameter& parameter : maker_.parameters()) {
      const std::vector<ValueId> sums = gradient_sums(builder, parameter);
      ValueId total = sums.front();
      for (size_t i = 1; i < sums.size(); ++i)
        total = builder.op("add_into", builder.graph().value(sums[i]).name + "/add", {total, sums[i]});
      ids.push_back(total);
    }
    return ids;
  }

  void add_begin() {
    Graph graph("begin");
    Builder builder(graph, ops_);
    for (const TrainedParameter& parameter : maker_.parameters())
      for (ValueId gradient : gradient_sums(builder, parameter))
        builder.op("fill", graph.value(gradient).name + "/zero", {gradient}, {{"value", 0.0}});
    add({"begin", std::move(graph), true});
  }

  void add_update() {
    Graph graph("update");
    Builder builder(graph, ops_);
    const auto gradients = complete_gradients(builder);
    const ValueId step_hyper = hyper(builder);
    const ValueId scale = batch_.clip_norm > 0.0 ? clip(builder, gradients) : ValueId();
    const std::vector<TrainedParameter>& parameters = maker_.parameters();
    for (size_t i = 0; i < parameters.size(); ++i) {
      const ValueId parameter = builder.parameter(parameters[i].value.name, parameters[i].value.type);
      optimizer_.append_update(builder, {parameter, gradients[i]}, step_hyper, scale);
    }
    add({"update", std::move(graph), true});
  }

  ValueId clip(Builder& builder, const std::vector<ValueId>& gradients) const {
    std::vector<ValueId> norms;
    for (ValueId gradient : gradients)
      norms.push_back(builder.op("squared_norm", builder.graph().value(gradient).name + "/squared_norm", {gradient}));
    const auto outputs = builder.node("clip_scale", "clip", norms, {{"max_norm", batch_.clip_norm}});
    builder.result(outputs[1]);
    return outputs[0];
  }

  void add(compile::BodySpec body) { out_.bodies.push_back(std::move(body)); }

  const optim::Optimizer& optimizer_;
  const BatchPlan& batch_;
  const OpTable& ops_;
  GraphMaker maker_;
  TrainingGraphs out_;
};

}  // namespace

compile::BodySpec micro_batch_body(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                                   const OpTable& ops, BodyShape shape) {
  return GraphMaker(model, data, batch, ops).micro_batch(shape);
}

compile::BodySpec evaluation_body(const models::Model& model, const data::DataInfo& data, const BatchPlan& batch,
                                  const OpTable& ops, BodyShape shape) {
  return GraphMaker(model, data, batch, ops).evaluation(shape);
}

TrainingGraphs build_training_graphs(const models::Model& model, const data::DataInfo& data,
                                     const optim::Optimizer& optimizer, const BatchPlan& batch, const OpTable& ops) {
  TM_CHECK(batch.micro_batch >= 1 && batch.micro_batch <= batch.global_batch, "micro-batch within the global batch");
  return ProgramMaker(model, data, optimizer, batch, ops).make();
}

}  // namespace tidemark::train
