#include "framework/compile/rewrite_check.h"

#include "base/error.h"
#include "graph/verifier.h"

namespace tidemark::compile {
namespace {

// What a node gives, by its op's shape rule. A reader of packed operands is asked as it was before they were packed.
std::vector<OutputSpec> outputs_of(const Graph& graph, const Node& node, const LoweredNode& how, const OpTable& ops) {
  auto types = input_types(graph, node);
  if (how.packed_which >= 0) return how.outputs;
  for (const ops::PackedInput& packed : how.kernel->packed_inputs()) {
    const ValueType wanted{DType::u8, Shape{packed.bytes}};
    if (types.at(packed.input) != wanted)
      throw Error(ErrorCode::config, "packed input " + std::to_string(packed.input) + " is " +
                                         to_string(types[packed.input].value_or(ValueType())) + ", its kernel wants " +
                                         to_string(wanted));
    types[packed.input] = how.plain_inputs.at(packed.input);
  }
  return ops.find(node.op).outputs({node.attributes, types});
}

}  // namespace

std::string find_rewrite_fault(const memory::StepTrace& trace, const memory::RecomputePlan& plan, const Body& body,
                               const LoweredNodes& lowered, const OpTable& ops) {
  if (std::string fault = memory::find_plan_fault(trace, plan); !fault.empty()) return "schedule: " + fault;
  try {
    verify(body.graph, [&](const Node& node) { return outputs_of(body.graph, node, lowered.at(node.id), ops); });
  } catch (const Error& error) {
    return error.what();
  }
  const std::string fault = memory::find_plan_fault(body.trace, body.plan);
  return fault.empty() ? fault : "offsets: " + fault;
}

}  // namespace tidemark::compile
