#include "framework/models/gpt.h"

#include <algorithm>
#include <cmath>

#include "framework/models/layers.h"

namespace tidemark::models {
namespace {

// Rows of the embedding beyond the vocabulary are never a target and cost little; matmuls run up to twice as fast.
constexpr int64_t kVocabularyMultiple = 64;

constexpr double kStddev = 0.02;

}  // namespace

void Gpt::fields(config::Fields& fields) {
  fields.integer("layers", layers_, "Transformer blocks.", {.min = 1, .max = 1000});
  fields.integer("heads", heads_, "Attention heads; width must be a multiple.", {.min = 1, .max = 1024});
  fields.integer("width", width_, "Channels of the residual stream.", {.min = 1, .max = 1 << 20});
  fields.integer("context", context_, "Tokens of a sample.", {.min = 1, .max = 1 << 20});
  fields.integer("positions", positions_, "Rows of the position table, at least context; 0 takes context.",
                 {.min = 0, .max = 1 << 20});
  fields.real("dropout", dropout_, "Share of activations dropped in training, after the embedding and each branch.",
              {.min = 0, .max = 1, .max_open = true});
  fields.integer("vocabulary", vocabulary_, "Token classes of the head; 0 takes those of the tokenizer.",
                 {.min = 0, .max = 1 << 24});
}

std::vector<std::string> Gpt::problems(const data::DataInfo& data) const {
  std::vector<std::string> problems;
  if (width_ % heads_ != 0)
    problems.push_back("model.width " + std::to_string(width_) + " is not a multiple of model.heads " +
                       std::to_string(heads_));
  if (positions_ != 0 && positions_ < context_)
    problems.push_back("model.positions " + std::to_string(positions_) + " is smaller than model.context " +
                       std::to_string(context_));
  if (data.fields.size() != 2 || data.fields[0].name != "tokens")
    problems.push_back("model.kind gpt needs a text data kind, not '" + data.kind + "'");
  else if (classes(data) < data.classes)
    problems.push_back("model.vocabulary " + std::to_string(vocabulary_) + " is smaller than the tokenizer's " +
                       std::to_string(data.classes));
  return problems;
}

ValueId Gpt::block(ModelBuilder& builder, ValueId x, DropoutSites& dropout) const {
  const double branch_stddev = kStddev / std::sqrt(2.0 * static_cast<double>(layers_));
  {
    auto scope = builder.scope("attention");
    ValueId h = layer_norm(builder, "norm", x);
    h = linear(builder, "qkv", h, {.in = width_, .out = 3 * width_, .stddev = kStddev});
    h = builder.op("attention", "heads", {h}, {{"heads", heads_}, {"causal", true}});
    h = linear(builder, "out", h, {.in = width_, .out = width_, .stddev = branch_stddev});
    h = dropout.apply(builder, h);
    x = builder.op("add", "residual", {x, h});
  }
  auto scope = builder.scope("mlp");
  ValueId h = layer_norm(builder, "norm", x);
  h = linear(builder, "up", h, {.in = width_, .out = 4 * width_, .activation = "gelu", .stddev = kStddev});
  h = linear(builder, "down", h, {.in = 4 * width_, .out = width_, .stddev = branch_stddev, .transposed = false});
  h = dropout.apply(builder, h);
  return builder.op("add", "residual", {x, h});
}

ModelOutputs Gpt::build(ModelBuilder& builder, const ModelRequest& request) const {
  const int64_t real = classes(request.data);
  const int64_t rows = (real + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
  const Initializer normal{Initializer::Kind::normal, kStddev};
  const ValueId table = builder.weight("embedding/tokens", Shape{rows, width_}, normal);
  const ValueId positions =
      builder.weight("embedding/positions", Shape{std::max(positions_, context_), width_}, normal);
  DropoutSites dropout(request, dropout_);
  ValueId x = builder.op("embedding", "embedding/lookup", {request.inputs.at(0), table, positions});
  x = dropout.apply(builder, x);
  for (int64_t i = 0; i < layers_; ++i) {
    auto scope = builder.scope("layer" + std::to_string(i));
    x = block(builder, x, dropout);
  }
  x = layer_norm(builder, "final_norm", x);
  const ValueId loss = builder.op("linear_cross_entropy", "head", {x, table, request.inputs.at(1), request.loss_weight},
                                  {{"classes", real}});
  return {loss, std::nullopt};
}

}  // namespace tidemark::models
