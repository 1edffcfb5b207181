#include "ops/testing/run_graph.h"

#include <algorithm>

#include "base/error.h"
#include "graph/verifier.h"
#include "ops/testing/guarded_buffer.h"

namespace tidemark::ops::testing {
namespace {

class Interpreter {
 public:
  Interpreter(const Graph& graph, const OpSet& ops, int threads) : graph_(graph), ops_(ops), threads_(threads) {}

  void load(const ValueBytes& externals) {
    for (const auto& [id, bytes] : externals) {
      const Value& value = graph_.value(id);
      TM_CHECK(static_cast<int64_t>(bytes.size()) == value.type.bytes(), "bytes of external value " + value.name);
      const auto [place, is_new] = storage_.try_emplace(graph_.storage(id), value.type.bytes());
      std::copy(bytes.begin(), bytes.end(), place->second.data());
      seen_[id] = bytes;
    }
  }

  ValueBytes run() {
    for (const NodeId id : graph_.order()) run_node(graph_.node(id));
    return std::move(seen_);
  }

 private:
  void run_node(const Node& node) {
    const std::vector<std::optional<ValueType>> types = input_types(graph_, node);
    const KernelRequest request{OpCall{node.attributes, types}, threads_};
    const KernelChoice choice = ops_.choose_kernel(node.op, KernelDevice::cpu, request);
    GuardedBuffer workspace(choice.kernel->workspace_bytes());
    std::vector<const void*> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(input.valid() ? address_of(input, node) : nullptr);
    std::vector<GuardedBuffer> packed;
    pack_inputs(*choice.kernel, workspace, inputs, packed);
    std::vector<void*> outputs;
    for (const ValueId output : node.outputs) outputs.push_back(make_output(output));
    KernelArgs args;
    args.inputs = inputs;
    args.outputs = outputs;
    args.workspace = workspace.data();
    choice.kernel->run(args);
    require_whole(workspace, node, "workspace");
    for (const GuardedBuffer& buffer : packed) require_whole(buffer, node, "packed input");
    for (const ValueId output : node.outputs) keep_output(output, node);
  }

  static void pack_inputs(const Kernel& kernel, const GuardedBuffer& workspace, std::vector<const void*>& inputs,
                          std::vector<GuardedBuffer>& packed) {
    const std::vector<PackedInput> wanted = kernel.packed_inputs();
    for (size_t which = 0; which < wanted.size(); ++which) {
      packed.emplace_back(wanted[which].bytes);
      kernel.pack(which, inputs.at(wanted[which].input), packed.back().data(), workspace.data());
      inputs[wanted[which].input] = packed.back().data();
    }
  }

  const void* address_of(ValueId id, const Node& node) const {
    const auto place = storage_.find(graph_.storage(id));
    if (place == storage_.end()) {
      throw Error(ErrorCode::data,
                  "node '" + node.name + "' reads '" + graph_.value(id).name + "', which has no bytes");
    }
    return place->second.data();
  }

  void* make_output(ValueId id) {
    const auto [place, is_new] = storage_.try_emplace(graph_.storage(id), graph_.value(id).type.bytes());
    return place->second.data();
  }

  void keep_output(ValueId id, const Node& node) {
    const GuardedBuffer& buffer = storage_.at(graph_.storage(id));
    require_whole(buffer, node, graph_.value(id).name);
    seen_[id].assign(buffer.data(), buffer.data() + buffer.bytes());
  }

  static void require_whole(const GuardedBuffer& buffer, const Node& node, const std::string& what) {
    const std::string fault = buffer.guard_fault();
    if (!fault.empty()) throw Error(ErrorCode::data, "node '" + node.name + "', " + what + ": " + fault);
  }

  const Graph& graph_;
  const OpSet& ops_;
  const int threads_;
  std::map<ValueId, GuardedBuffer> storage_;  // by the first version
  ValueBytes seen_;
};

}  // namespace

ValueBytes run_graph(const Graph& graph, const OpSet& ops, const ValueBytes& externals, int threads) {
  verify(graph, ops.table());
  Interpreter interpreter(graph, ops, threads);
  interpreter.load(externals);
  return interpreter.run();
}

}  // namespace tidemark::ops::testing
