#include "framework/models/lstm.h"

#include <cmath>

#include "framework/models/layers.h"

namespace tidemark::models {
namespace {

enum Field : size_t { kTokens, kTargets, kLengths };

// Rows of the tables beyond the vocabulary are never a target and cost little; matmuls run up to twice as fast.
constexpr int64_t kVocabularyMultiple = 64;

// The deviation of the uniform distribution over ±1/sqrt(fan in), which recurrent nets usually begin with.
double stddev(int64_t fan_in) { return 1 / std::sqrt(3 * static_cast<double>(fan_in)); }

bool is_packed_text(const data::DataInfo& data) {
  return data.packed && data.fields.size() == 3 && data.fields[kTokens].name == "tokens" &&
         data.fields[kTargets].name == "targets" && data.fields[kLengths].name == "lengths";
}

}  // namespace

void Lstm::fields(config::Fields& fields) {
  fields.integer("layers", layers_, "Recurrent layers, one on the other.", {.min = 1, .max = 1000});
  fields.integer("width", width_, "Hidden units of a layer.", {.min = 1, .max = 1 << 20});
  fields.integer("embedding", embedding_, "Channels of a token.", {.min = 1, .max = 1 << 20});
  fields.real("dropout", dropout_, "Share of activations dropped in training, after the embedding and each layer.",
              {.min = 0, .max = 1, .max_open = true});
  fields.integer("vocabulary", vocabulary_, "Token classes of the head; 0 takes those of the data.",
                 {.min = 0, .max = 1 << 24});
}

std::vector<std::string> Lstm::problems(const data::DataInfo& data) const {
  if (!is_packed_text(data)) return {"model.kind lstm needs data kind lines, not '" + data.kind + "'"};
  if (classes(data) >= data.classes) return {};
  return {"model.vocabulary " + std::to_string(vocabulary_) + " is smaller than the data's " +
          std::to_string(data.classes)};
}

ValueId Lstm::layer(ModelBuilder& builder, ValueId x, ValueId lengths) const {
  const int64_t in = builder.type(x).shape.dim(-1);
  const ValueId gates = linear(builder, "input", x, {.in = in, .out = 4 * width_, .stddev = stddev(width_)});
  const ValueId recurrent =
      builder.weight("recurrent/weight", Shape{4 * width_, width_}, {Initializer::Kind::normal, stddev(width_)});
  return builder.op("lstm", "cells", {gates, recurrent, lengths});
}

ModelOutputs Lstm::build(ModelBuilder& builder, const ModelRequest& request) const {
  const int64_t real = classes(request.data);
  const int64_t rows = (real + kVocabularyMultiple - 1) / kVocabularyMultiple * kVocabularyMultiple;
  const ValueId lengths = request.inputs.at(kLengths);
  const Initializer of_embedding{Initializer::Kind::normal, 1.0}, of_head{Initializer::Kind::normal, stddev(width_)};
  const ValueId table = builder.weight("embedding/tokens", Shape{rows, embedding_}, of_embedding);
  DropoutSites dropout = DropoutSites::of_rows(builder, request, dropout_, lengths);
  ValueId x = builder.op("embedding", "embedding/lookup", {request.inputs.at(kTokens), table});
  x = dropout.apply(builder, x);
  for (int64_t i = 0; i < layers_; ++i) {
    auto scope = builder.scope("layer" + std::to_string(i));
    x = layer(builder, x, lengths);
    x = dropout.apply(builder, x);
  }
  const ValueId head = builder.weight("head/weight", Shape{rows, width_}, of_head);
  const ValueId loss = builder.op("linear_cross_entropy", "head/loss",
                                  {x, head, request.inputs.at(kTargets), request.loss_weight}, {{"classes", real}});
  return {loss, std::nullopt};
}

}  // namespace tidemark::models
