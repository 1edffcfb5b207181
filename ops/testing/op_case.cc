#include "ops/testing/op_case.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "ops/testing/gradient_check.h"
#include "ops/testing/kernel_run.h"
#include "ops/testing/sample_check.h"
#include "ops/testing/split_check.h"
#include "ops/testing/tensor_bytes.h"

namespace tidemark::ops::testing {
namespace {

class CaseCheck {
 public:
  CaseCheck(const OpSet& ops, const OpCase& op_case)
      : ops_(ops), case_(op_case), seed_(seed_of(op_case.name)), random_(seed_) {
    call_.op = &ops.table().find(op_case.op);
    call_.attributes = op_case.attributes;
    for (const InputSpec& spec : op_case.inputs) {
      inputs_.push_back(spec.absent ? Reference() : make_input(spec, random_));
      call_.types.push_back(spec.absent ? std::nullopt : std::optional<ValueType>(spec.type));
      call_.inputs.push_back(spec.absent ? std::vector<std::byte>() : to_bytes(spec.type, inputs_.back().data));
    }
  }

  std::vector<std::string> run() {
    try {
      specs_ = call_.op->outputs(call_.op_call());
      wanted_ = case_.reference(case_.attributes, inputs_);
      if (check_specs()) {
        check_cost();
        check_kernels();
        if (case_.check_gradient) check_gradient();
      }
    } catch (const Error& e) {
      fault(e.what());
    }
    return faults_;
  }

 private:
  void fault(const std::string& text) {
    faults_.push_back(case_.op + " case '" + case_.name + "' (seed " + std::to_string(seed_) + "): " + text);
  }

  bool check_specs() {
    if (specs_.size() != wanted_.size()) {
      fault("the op has " + std::to_string(specs_.size()) + " outputs, the reference " +
            std::to_string(wanted_.size()));
      return false;
    }
    const size_t before = faults_.size();
    for (size_t o = 0; o < specs_.size(); ++o) check_spec(o);
    return faults_.size() == before;
  }

  void check_spec(size_t o) {
    const std::string output = "output " + std::to_string(o);
    const ValueType& type = specs_[o].type;
    if (type != wanted_[o].type)
      fault(output + " is " + to_string(type) + ", the reference gives " + to_string(wanted_[o].type));
    std::vector<size_t> inputs = specs_[o].may_share;
    if (specs_[o].overwrites) inputs.push_back(*specs_[o].overwrites);
    for (const size_t input : inputs) {
      if (call_.op_call().has(input) && call_.op_call().input(input).bytes() != type.bytes()) {
        fault(output + " cannot take the bytes of input " + std::to_string(input) + ": the sizes differ");
      }
    }
  }

  void check_cost() {
    const Cost cost = call_.op->cost(call_.op_call());
    int64_t read = 0, written = 0;
    for (const auto& type : call_.types) read += type ? type->bytes() : 0;
    for (const OutputSpec& spec : specs_) written += spec.type.bytes();
    check_count("bytes read", cost.bytes_read, case_.bytes_read.value_or(read));
    check_count("bytes written", cost.bytes_written, case_.bytes_written.value_or(written));
    if (case_.flops) check_count("flops", cost.flops, *case_.flops);
  }

  template <class Number>
  void check_count(const std::string& what, Number declared, Number wanted) {
    if (declared == wanted) return;
    fault("declares " + std::to_string(declared) + " " + what + ", wanted " + std::to_string(wanted));
  }

  void check_kernels() {
    int kernels_run = 0;
    for (const KernelEntry& entry : ops_.kernels(case_.op)) {
      if (entry.device != KernelDevice::cpu) continue;
      for (const int threads : case_.threads) kernels_run += check_kernel(entry, threads);
    }
    if (kernels_run == 0) fault("no CPU kernel takes it" + refusals_);
  }

  // The attributes and types that a kernel is made from are gone when it runs, as in a compiled program.
  std::unique_ptr<Kernel> make_kernel(const KernelEntry& entry, int threads, std::string& why_not) const {
    const KernelCall made_from = call_;
    return entry.make(KernelRequest{made_from.op_call(), threads}, why_not);
  }

  bool check_kernel(const KernelEntry& entry, int threads) {
    const std::string where = entry.name + ", " + std::to_string(threads) + " thread(s)";
    std::string why_not;
    const std::unique_ptr<Kernel> kernel = make_kernel(entry, threads, why_not);
    if (!kernel) {
      if (why_not.empty()) fault(where + ": refused without a reason");
      refusals_ += "; " + where + ": " + why_not;
      return false;
    }
    std::vector<std::vector<std::byte>> first;
    for (const Placement& placement : placements(*kernel, call_)) {
      const RunResult result = run_kernel(*kernel, call_, placement);
      for (const std::string& text : result.faults) fault(where + ", " + placement.name + ": " + text);
      if (first.empty()) {
        first = result.outputs;
        compare_with_reference(where, first);
      } else {
        compare_with_first(where + ", " + placement.name, first, result.outputs);
      }
    }
    for (const std::string& text : split_faults(ops_, call_, first, threads)) fault(where + ", " + text);
    for (const std::string& text : sample_faults(entry, call_, first, threads)) fault(where + ", " + text);
    return true;
  }

  void compare_with_reference(const std::string& where, const std::vector<std::vector<std::byte>>& outputs) {
    for (size_t o = 0; o < outputs.size(); ++o) {
      const std::vector<double> got = to_doubles(specs_[o].type, outputs[o].data());
      const std::string wrong = find_difference(wanted_[o], got, case_.tolerance, 1);
      if (!wrong.empty()) fault(where + ": output " + std::to_string(o) + ", " + wrong);
    }
  }

  void compare_with_first(const std::string& where, const std::vector<std::vector<std::byte>>& first,
                          const std::vector<std::vector<std::byte>>& again) {
    for (size_t o = 0; o < first.size(); ++o) {
      if (again[o] == first[o]) continue;
      const Reference want{specs_[o].type, to_doubles(specs_[o].type, first[o].data())};
      const std::string wrong = find_difference(want, to_doubles(specs_[o].type, again[o].data()), 0, 0);
      fault(where + ": output " + std::to_string(o) + " is not bit-equal to the first run's: " + wrong);
    }
  }

  void check_gradient() {
    for (const std::string& text : gradient_faults(ops_, case_, inputs_, wanted_, random_())) fault(text);
  }

  const OpSet& ops_;
  const OpCase& case_;
  const uint64_t seed_;
  std::mt19937_64 random_;
  KernelCall call_;
  std::vector<Reference> inputs_;
  std::vector<OutputSpec> specs_;
  std::vector<Reference> wanted_;
  std::string refusals_;
  std::vector<std::string> faults_;
};

}  // namespace

std::vector<std::string> op_case_faults(const OpSet& ops, const OpCase& op_case) {
  return CaseCheck(ops, op_case).run();
}

void check_op_case(const OpSet& ops, const OpCase& op_case) {
  for (const std::string& fault : op_case_faults(ops, op_case)) ADD_FAILURE() << fault;
}

}  // namespace tidemark::ops::testing
