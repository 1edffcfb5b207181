#include "framework/compile/liveness.h"

#include <algorithm>
#include <map>

namespace tidemark::compile {
namespace {

struct Storage {
  ValueId root;
  int64_t begin = -1;  // first step that needs the bytes; -1: unused
  int64_t end = -1;
  ValueId predecessor;         // shares the bytes of this input
  bool has_successor = false;  // its bytes are taken by an output
  int64_t group = -1;
};

class LivenessFinder {
 public:
  LivenessFinder(const Graph& graph, const LoweredNodes& lowered, const LivenessOptions& options)
      : graph_(graph), lowered_(lowered), options_(options) {}

  Liveness run() {
    find_ranges();
    find_shared();
    Liveness out;
    out.trace.name = graph_.name();
    out.buffer_of_value.assign(graph_.values().size(), -1);
    out.workspace_of_node.assign(graph_.order().size(), -1);
    for (auto& [root, storage] : storages_) add_buffer(out, storage);
    for (const Value& value : graph_.values())
      out.buffer_of_value[value.id.index()] = out.buffer_of_value[graph_.storage(value.id).index()];
    add_workspaces(out);
    note_handovers(out);
    return out;
  }

 private:
  bool is_placed(const Value& value) const {
    return value.scope == Scope::run || (value.scope == Scope::step && options_.step_values_are_placed) ||
           (options_.is_placed && options_.is_placed(value));
  }

  void touch(ValueId id, int64_t step) {
    if (!id.valid()) return;
    const ValueId root = graph_.storage(id);
    if (is_placed(graph_.value(root))) return;
    Storage& storage = storages_[root];
    if (storage.begin < 0) {
      storage.root = root;
      storage.begin = graph_.value(root).external() ? 0 : step;
    }
    storage.end = std::max(storage.end, step + 1);
  }

  void find_ranges() {
    // Externals are loaded before the body starts, in front of whatever uses them.
    for (size_t i = 0; i < graph_.order().size(); ++i) {
      const Node& node = graph_.node(graph_.order()[i]);
      for (ValueId v : node.inputs) touch(v, static_cast<int64_t>(i));
      for (ValueId v : node.outputs) touch(v, static_cast<int64_t>(i));
    }
    const auto last = static_cast<int64_t>(graph_.order().size()) - 1;
    for (ValueId v : graph_.results()) touch(v, last);
  }

  Storage* shareable_input(const Node& node, size_t input, int64_t step, int64_t bytes) {
    const ValueId id = node.inputs.at(input);
    if (!id.valid()) return nullptr;
    const auto found = storages_.find(graph_.storage(id));
    if (found == storages_.end()) return nullptr;  // a segment's bytes are nobody else's
    Storage& storage = found->second;
    const bool dies_here = storage.end == step + 1;
    return dies_here && !storage.has_successor && graph_.value(id).type.bytes() == bytes ? &storage : nullptr;
  }

  void find_shared() {
    int64_t groups = 0;
    for (size_t i = 0; i < graph_.order().size(); ++i) {
      const Node& node = graph_.node(graph_.order()[i]);
      const auto& outputs = lowered_.at(node.id).outputs;
      for (size_t o = 0; o < outputs.size(); ++o) {
        const Value& value = graph_.value(node.outputs[o]);
        if (value.overwrites.valid() || is_placed(value)) continue;
        Storage& to = storages_.at(value.id);
        for (size_t input : outputs[o].may_share) {
          Storage* from = shareable_input(node, input, static_cast<int64_t>(i), value.type.bytes());
          if (from == nullptr || to.predecessor.valid()) continue;
          if (from->group < 0) from->group = groups++;
          to.group = from->group;
          to.predecessor = from->root;
          from->has_successor = true;
        }
      }
    }
  }

  void add_buffer(Liveness& out, const Storage& storage) {
    const Value& value = graph_.value(storage.root);
    memory::Buffer buffer;
    buffer.id = static_cast<int64_t>(out.trace.buffers.size());
    buffer.bytes = value.type.bytes() + 2 * options_.guard_bytes;
    buffer.alignment = options_.alignment;
    buffer.intervals = {{storage.begin, storage.end}};
    buffer.category = value.category;
    buffer.scope = value.scope;
    if (storage.group >= 0) buffer.alias_group = storage.group;
    out.buffer_of_value[storage.root.index()] = static_cast<int>(out.trace.buffers.size());
    out.trace.buffers.push_back(std::move(buffer));
    out.names.push_back(value.name);
  }

  void add_workspaces(Liveness& out) {
    for (size_t i = 0; i < graph_.order().size(); ++i) {
      const NodeId id = graph_.order()[i];
      const int64_t bytes = lowered_.at(id).kernel->workspace_bytes();
      if (bytes == 0) continue;
      memory::Buffer buffer;
      buffer.id = static_cast<int64_t>(out.trace.buffers.size());
      buffer.bytes = bytes + 2 * options_.guard_bytes;
      buffer.alignment = options_.alignment;
      buffer.intervals = {{static_cast<int64_t>(i), static_cast<int64_t>(i) + 1}};
      buffer.category = Category::workspace;
      out.workspace_of_node[i] = static_cast<int>(out.trace.buffers.size());
      out.trace.buffers.push_back(std::move(buffer));
      out.names.push_back(graph_.node(id).name + "/workspace");
    }
  }

  void note_handovers(Liveness& out) const {
    out.takes_over.assign(out.trace.buffers.size(), -1);
    for (const auto& [root, storage] : storages_)
      if (storage.predecessor.valid())
        out.takes_over[static_cast<size_t>(out.buffer_of_value[root.index()])] =
            out.buffer_of_value[storage.predecessor.index()];
  }

  const Graph& graph_;
  const LoweredNodes& lowered_;
  const LivenessOptions& options_;
  std::map<ValueId, Storage> storages_;
};

}  // namespace

Liveness find_liveness(const Graph& graph, const LoweredNodes& lowered, const LivenessOptions& options) {
  return LivenessFinder(graph, lowered, options).run();
}

}  // namespace tidemark::compile
