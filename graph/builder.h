// Builds a graph node by node, with hierarchical names and shapes checked at once.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/op.h"

namespace tidemark {

class Builder {
 public:
  // Both must outlive the builder.
  Builder(Graph& graph, const OpTable& ops) : graph_(graph), ops_(ops) {}

  // Names of nodes and values made while a Prefix is alive begin with "NAME/".
  class Prefix {
   public:
    Prefix(Builder& builder, std::string_view name);
    ~Prefix();
    Prefix(const Prefix&) = delete;
    Prefix& operator=(const Prefix&) = delete;

   private:
    Builder& builder_;
    size_t old_length_;
  };
  Prefix scope(std::string_view name) { return Prefix(*this, name); }

  // External values: they hold their bytes before the body starts.
  ValueId parameter(std::string_view name, ValueType type);  // Category::weights, Scope::run
  ValueId external(std::string_view name, ValueType type, Category category, Scope scope);

  // Appends a node `name` (made unique) and gives its outputs. Output values are named after the node and the op's
  // suffixes; scope: that of an overwritten value, else micro_batch.
  std::vector<ValueId> node(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                            Attributes attributes = {});
  // The same for the main (first) output.
  ValueId op(std::string_view op, std::string_view name, std::vector<ValueId> inputs, Attributes attributes = {});

  void result(ValueId id) { graph_.add_result(id); }
  const ValueType& type(ValueId id) const { return graph_.value(id).type; }
  Graph& graph() { return graph_; }
  const OpTable& ops() const { return ops_; }

 private:
  Graph& graph_;
  const OpTable& ops_;
  std::string prefix_;
};

}  // namespace tidemark
