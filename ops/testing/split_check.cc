#include "ops/testing/split_check.h"

#include <set>

namespace tidemark::ops::testing {
namespace {

class SplitCheck {
 public:
  SplitCheck(const OpSet& ops, const KernelCall& call, const std::vector<std::vector<std::byte>>& whole, int threads)
      : ops_(ops), call_(call), whole_(whole), threads_(threads), specs_(call.op->outputs(call.op_call())) {}

  std::vector<std::string> run() {
    const std::vector<NodePart> parts = ops_.split(call_.op->name(), call_.op_call());
    if (parts.empty()) return {};
    for (const NodePart& part : parts) {
      run_part(part);
      if (!faults_.empty()) return faults_;
    }
    for (size_t o = 0; o < whole_.size(); ++o)
      if (made_.count(o) == 0) fault("no part gives output " + std::to_string(o));
    return faults_;
  }

 private:
  void fault(const std::string& text) { faults_.push_back("split: " + text); }

  KernelCall call_of(const NodePart& part) {
    KernelCall call;
    call.op = &ops_.table().find(part.op);
    call.attributes = part.attributes;
    for (const PartOperand& from : part.inputs) {
      if (from.of_outputs && made_.count(from.index) == 0) {
        fault(part.op + " reads output " + std::to_string(from.index) + ", which no part before it gives");
        return call;
      }
      call.types.push_back(from.of_outputs ? specs_.at(from.index).type : call_.types.at(from.index));
      call.inputs.push_back(from.of_outputs ? whole_.at(from.index) : call_.inputs.at(from.index));
    }
    return call;
  }

  // Earlier parts have proved to give the whole's bits, so those are what this part reads.
  void run_part(const NodePart& part) {
    const KernelCall call = call_of(part);
    if (!faults_.empty()) return;
    const KernelChoice choice = ops_.choose_kernel(part.op, KernelDevice::cpu, {call.op_call(), threads_});
    const RunResult result = run_kernel(*choice.kernel, call, Placement{});
    for (const std::string& text : result.faults) fault(choice.name + ": " + text);
    if (result.outputs.size() != part.outputs.size()) return fault(part.op + " has another number of outputs");
    for (size_t i = 0; i < part.outputs.size(); ++i) {
      const size_t o = part.outputs[i];
      if (!made_.insert(o).second) fault("output " + std::to_string(o) + " is given twice");
      if (result.outputs[i] != whole_.at(o))
        fault(choice.name + ": output " + std::to_string(o) + " is not bit-equal to the whole's");
    }
  }

  const OpSet& ops_;
  const KernelCall& call_;
  const std::vector<std::vector<std::byte>>& whole_;
  const int threads_;
  const std::vector<OutputSpec> specs_;
  std::set<size_t> made_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> split_faults(const OpSet& ops, const KernelCall& call,
                                      const std::vector<std::vector<std::byte>>& whole, int threads) {
  return SplitCheck(ops, call, whole, threads).run();
}

}  // namespace tidemark::ops::testing
