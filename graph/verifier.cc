#include "graph/verifier.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark {
namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

// Walks the order and keeps, for each storage, the version whose bytes it holds at that point.
class Verifier {
 public:
  Verifier(const Graph& graph, const OutputRule& outputs_of)
      : graph_(graph), outputs_of_(outputs_of), written_(graph.values().size()), newest_(graph.values().size()) {}

  void run() {
    for (const Value& value : graph_.values()) start(value);
    for (NodeId id : graph_.order()) check_node(graph_.node(id));
    for (ValueId id : graph_.results()) check_result(graph_.value(id));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Error(ErrorCode::config, "graph " + quoted(graph_.name()) + ": " + what);
  }
  [[noreturn]] void fail(const Node& node, const std::string& what) const {
    fail("node " + quoted(node.name) + " (" + node.op + ") " + what);
  }

  void start(const Value& value) {
    if (value.removed) return;
    const auto& dims = value.type.shape.dims();
    if (std::any_of(dims.begin(), dims.end(), [](int64_t dim) { return dim < 1; })) {
      fail("value " + quoted(value.name) + " has the empty type " + to_string(value.type));
    }
    if (!value.external()) return;
    if (value.overwrites.valid()) fail("value " + quoted(value.name) + " overwrites another, but no node produces it");
    write(value);
  }

  void check_node(const Node& node) {
    for (ValueId id : node.inputs) {
      if (id.valid()) check_readable(node, graph_.value(id));
    }
    const std::vector<OutputSpec> specs = specs_of(node);
    if (specs.size() != node.outputs.size()) {
      fail(node,
           "has " + std::to_string(node.outputs.size()) + " outputs; its op gives " + std::to_string(specs.size()));
    }
    for (size_t i = 0; i < specs.size(); ++i) check_output(node, graph_.value(node.outputs[i]), specs[i]);
    for (ValueId id : node.outputs) write(graph_.value(id));
  }

  std::vector<OutputSpec> specs_of(const Node& node) const {
    try {
      return outputs_of_(node);
    } catch (const Error& error) {
      fail(node, std::string("is refused: ") + error.what());
    }
  }

  void check_readable(const Node& node, const Value& value) const {
    if (!written_[value.id.index()]) fail(node, "reads " + quoted(value.name) + " before it is produced");
    const Value& newest = graph_.value(newest_version(value.id));
    if (newest.id != value.id) {
      fail(node, "reads " + quoted(value.name) + " after " + quoted(newest.name) + " has overwritten it");
    }
  }

  void check_output(const Node& node, const Value& value, const OutputSpec& spec) {
    if (value.producer != node.id) fail(node, "lists " + quoted(value.name) + ", which is not its output");
    if (written_[value.id.index()]) fail(node, "produces " + quoted(value.name) + " a second time");
    if (value.type != spec.type) {
      fail(node, "gives " + quoted(value.name) + " the type " + to_string(spec.type) + "; recorded is " +
                     to_string(value.type));
    }
    const bool in_place =
        spec.overwrites && *spec.overwrites < node.inputs.size() && node.inputs[*spec.overwrites].valid();
    const ValueId expected = in_place ? node.inputs[*spec.overwrites] : ValueId();
    if (value.overwrites != expected) fail(node, overwrites_message(value, expected));
    if (expected.valid()) check_overwrite(node, value, graph_.value(expected));
  }

  std::string overwrites_message(const Value& value, ValueId expected) const {
    const auto name = [&](ValueId id) { return id.valid() ? quoted(graph_.value(id).name) : std::string("nothing"); };
    return "makes " + quoted(value.name) + " overwrite " + name(expected) + "; recorded is " + name(value.overwrites);
  }

  void check_overwrite(const Node& node, const Value& after, const Value& before) const {
    const std::string pair = quoted(after.name) + " over " + quoted(before.name);
    if (after.type.bytes() != before.type.bytes()) {
      fail(node, "writes " + pair + ": " + std::to_string(after.type.bytes()) + " bytes over " +
                     std::to_string(before.type.bytes()));
    }
    if (after.version != before.version + 1 || after.scope != before.scope || after.category != before.category) {
      fail(node, "writes " + pair + ": version, scope or category do not continue it");
    }
    if (std::count(node.inputs.begin(), node.inputs.end(), before.id) > 1) {
      fail(node, "overwrites " + quoted(before.name) + " and also reads it through another input");
    }
    for (ValueId sibling : node.outputs) {
      const Value& other = graph_.value(sibling);
      if (other.id != after.id && other.overwrites == before.id) {
        fail(node,
             "overwrites " + quoted(before.name) + " twice, with " + quoted(after.name) + " and " + quoted(other.name));
      }
    }
  }

  void check_result(const Value& value) const {
    if (!written_[value.id.index()]) fail("result " + quoted(value.name) + " is not produced");
    const Value& newest = graph_.value(newest_version(value.id));
    if (newest.id != value.id) {
      fail("result " + quoted(value.name) + " is overwritten by " + quoted(newest.name) + " before the end");
    }
  }

  void write(const Value& value) {
    written_[value.id.index()] = true;
    newest_[graph_.storage(value.id).index()] = value.id;
  }

  ValueId newest_version(ValueId id) const { return newest_[graph_.storage(id).index()]; }

  const Graph& graph_;
  const OutputRule& outputs_of_;
  std::vector<bool> written_;    // by value: holds, or has held, its bytes
  std::vector<ValueId> newest_;  // by first version of a storage
};

}  // namespace

void verify(const Graph& graph, const OpTable& ops) {
  verify(graph, [&](const Node& node) {
    const auto types = input_types(graph, node);
    return ops.find(node.op).outputs({node.attributes, types});
  });
}

void verify(const Graph& graph, const OutputRule& outputs_of) { Verifier(graph, outputs_of).run(); }

}  // namespace tidemark
