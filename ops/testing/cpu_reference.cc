#include "ops/testing/cpu_reference.h"

#include "ops/testing/kernel_run.h"
#include "ops/testing/tensor_bytes.h"

namespace tidemark::ops::testing {
namespace {

// An absent input has neither shape nor data.
bool is_absent(const Reference& input) { return input.type.shape.rank() == 0 && input.data.empty(); }

KernelCall make_call(const Op& op, const Attributes& attributes, const std::vector<Reference>& inputs) {
  KernelCall call{.op = &op, .attributes = attributes};
  for (const Reference& input : inputs) {
    const bool absent = is_absent(input);
    call.types.push_back(absent ? std::nullopt : std::optional<ValueType>(input.type));
    call.inputs.push_back(absent ? std::vector<std::byte>() : to_bytes(input.type, input.data));
  }
  return call;
}

}  // namespace

std::function<std::vector<Reference>(const Attributes&, const std::vector<Reference>&)> cpu_reference(
    const OpSet& ops, const std::string& op) {
  return [&ops, op](const Attributes& attributes, const std::vector<Reference>& inputs) {
    const KernelCall call = make_call(ops.table().find(op), attributes, inputs);
    const KernelChoice choice = ops.choose_kernel(op, KernelDevice::cpu, {call.op_call(), 1});
    const RunResult result = run_kernel(*choice.kernel, call, {});
    const std::vector<OutputSpec> specs = call.op->outputs(call.op_call());
    std::vector<Reference> outputs;
    for (size_t o = 0; o < specs.size(); ++o) {
      outputs.push_back({specs[o].type, to_doubles(specs[o].type, result.outputs[o].data())});
    }
    return outputs;
  };
}

}  // namespace tidemark::ops::testing
