#include "framework/inference/continuation_graph.h"

#include <algorithm>
#include <set>

#include "ops/cached_attention/kv_cache_layout.h"

namespace tidemark::inference {
namespace {

// Nodes whose outputs nobody reads, results and updates in place apart; readers first.
void remove_unread_nodes(Graph& graph) {
  std::set<ValueId> wanted(graph.results().begin(), graph.results().end());
  const std::vector<NodeId> order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& node = graph.node(*id);
    const bool keep = std::ranges::any_of(node.outputs, [&](ValueId output) {
      return wanted.contains(output) || graph.value(output).overwrites.valid();
    });
    if (keep) {
      wanted.insert(node.inputs.begin(), node.inputs.end());
    } else {
      graph.remove_node(*id);
    }
  }
}

models::ContinuationRequest request_for(Builder& builder, const models::Model& model, const data::DataInfo& data,
                                        const ContinuationSize& size) {
  const models::CacheShape shape = model.cache_shape().value_or(models::CacheShape{});
  const ValueType tokens{DType::i32, {size.texts, size.tokens}};
  const ValueType cache = ops::kv_cache_type({shape.layers, size.lanes, shape.heads, shape.head_dim}, shape.tokens);
  return {.data = data,
          .tokens = builder.external(kTokens, tokens, Category::input, Scope::micro_batch),
          .positions = builder.external(kPositions, tokens, Category::input, Scope::micro_batch),
          .length = builder.external(kLength, {DType::i32, {1}}, Category::input, Scope::micro_batch),
          .cache = builder.external(kCache, cache, Category::kv_cache, Scope::step),
          .logits = size.logits};
}

}  // namespace

ContinuationGraph build_continuation_graph(const models::Model& model, const data::DataInfo& data, const OpTable& ops,
                                           const std::string& name, const ContinuationSize& size) {
  ContinuationGraph built{.graph = Graph(name), .initializers = {}, .logits = {}, .logits_type = {}};
  models::ModelBuilder builder(built.graph, ops);
  const auto outputs = model.build_continuation(builder, request_for(builder, model, data, size));
  built.initializers = builder.initializers();
  if (outputs.logits.valid()) {
    builder.result(outputs.logits);
    built.logits = built.graph.value(outputs.logits).name;
    built.logits_type = builder.type(outputs.logits);
  }
  remove_unread_nodes(built.graph);
  return built;
}

}  // namespace tidemark::inference
