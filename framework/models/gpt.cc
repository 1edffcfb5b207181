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

int64_t Gpt::rows_of_positions() const { return std::max(positions_, context_); }

Gpt::Tables Gpt::tables(ModelBuilder& builder, const data::DataInfo& data) const {
  const int64_t rows = (classes(data) + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
  const Initializer normal{Initializer::Kind::normal, kStddev};
  const ValueId tokens = builder.weight("embedding/tokens", Shape{rows, width_}, normal);
  return {tokens, builder.weight("embedding/positions", Shape{rows_of_positions(), width_}, normal)};
}

ValueId Gpt::block(ModelBuilder& builder, ValueId x, DropoutSites& dropout, int64_t layer, const Attend& attend) const {
  const double branch_stddev = kStddev / std::sqrt(2.0 * static_cast<double>(layers_));
  {
    auto scope = builder.scope("attention");
    ValueId h = layer_norm(builder, "norm", x);
    h = linear(builder, "qkv", h, {.in = width_, .out = 3 * width_, .stddev = kStddev});
    h = attend(h, layer);
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

ValueId Gpt::blocks(ModelBuilder& builder, ValueId x, DropoutSites& dropout, const Attend& attend) const {
  for (int64_t i = 0; i < layers_; ++i) {
    auto scope = builder.scope("layer" + std::to_string(i));
    x = block(builder, x, dropout, i, attend);
  }
  return x;
}

ModelOutputs Gpt::build(ModelBuilder& builder, const ModelRequest& request) const {
  const Tables table = tables(builder, request.data);
  DropoutSites dropout(request, dropout_);
  ValueId x = builder.op("embedding", "embedding/lookup", {request.inputs.at(0), table.tokens, table.positions});
  x = dropout.apply(builder, x);
  x = blocks(builder, x, dropout, [&](ValueId qkv, int64_t) {
    return builder.op("attention", "heads", {qkv}, {{"heads", heads_}, {"causal", true}});
  });
  x = layer_norm(builder, "final_norm", x);
  const ValueId loss = builder.op("linear_cross_entropy", "head",
                                  {x, table.tokens, request.inputs.at(1), request.loss_weight, request.loss_before},
                                  {{"classes", classes(request.data)}});
  return {loss, std::nullopt};
}

std::optional<CacheShape> Gpt::cache_shape() const {
  return CacheShape{.layers = layers_, .heads = heads_, .head_dim = width_ / heads_, .tokens = rows_of_positions()};
}

ContinuationOutputs Gpt::build_continuation(ModelBuilder& builder, const ContinuationRequest& request) const {
  const Tables table = tables(builder, request.data);
  const ModelRequest no_dropout{.data = request.data, .training = false};
  DropoutSites dropout(no_dropout, 0.0);
  // Positions are data here: the new tokens do not begin at the front of the table.
  const ValueId words = builder.op("embedding", "embedding/lookup", {request.tokens, table.tokens});
  const ValueId places = builder.op("embedding", "embedding/place", {request.positions, table.positions});
  ContinuationOutputs outputs{.logits = {}, .cache = request.cache};
  ValueId x = builder.op("add", "embedding/sum", {words, places});
  x = blocks(builder, x, dropout, [&](ValueId qkv, int64_t layer) {
    const auto heads = builder.node("cached_attention", "heads", {qkv, outputs.cache, request.length},
                                    {{"heads", heads_}, {"layer", layer}});
    outputs.cache = heads[1];
    return heads[0];
  });
  if (!request.logits) return outputs;
  x = layer_norm(builder, "final_norm", x);
  outputs.logits = builder.op("matmul", "head", {x, table.tokens}, {{"transpose_w", true}});
  return outputs;
}

}  // namespace tidemark::models
