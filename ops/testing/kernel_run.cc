#include "ops/testing/kernel_run.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "ops/testing/guarded_buffer.h"

namespace tidemark::ops::testing {
namespace {

class Run {
 public:
  Run(const Kernel& kernel, const KernelCall& call, const Placement& placement)
      : kernel_(kernel),
        call_(call),
        placement_(placement),
        specs_(call.op->outputs(call.op_call())),
        workspace_(kernel.workspace_bytes(), placement.poison, placement.lines) {}

  RunResult finish() {
    place_inputs();
    pack_inputs();
    place_outputs();
    KernelArgs args;
    args.inputs = inputs_;
    args.outputs = outputs_;
    args.workspace = workspace_address();
    kernel_.run(args);
    check_guards("the run");
    check_inputs();
    collect_outputs();
    return std::move(result_);
  }

 private:
  std::byte* workspace_address() const { return workspace_.bytes() > 0 ? workspace_.data() : nullptr; }

  std::byte* place(const std::string& name, int64_t bytes) {
    buffers_.emplace_back(bytes, placement_.poison, placement_.lines + static_cast<int>(buffers_.size() % 3));
    names_.push_back(name);
    return buffers_.back().data();
  }

  void place_inputs() {
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      if (!call_.types[i]) {
        inputs_.push_back(nullptr);
        continue;
      }
      const std::vector<std::byte>& bytes = call_.inputs[i];
      std::byte* data = place("input " + std::to_string(i), static_cast<int64_t>(bytes.size()));
      std::copy(bytes.begin(), bytes.end(), data);
      inputs_.push_back(data);
    }
  }

  void pack_inputs() {
    const std::vector<PackedInput> packed = kernel_.packed_inputs();
    for (size_t which = 0; which < packed.size(); ++which) {
      const size_t input = packed[which].input;
      std::byte* data = place("packed input " + std::to_string(input), packed[which].bytes);
      kernel_.pack(which, inputs_.at(input), data, workspace_address());
      inputs_[input] = data;
      packed_.insert(input);
    }
    if (!packed.empty()) check_guards("pack()");
  }

  // The input whose bytes output o takes, if any.
  std::optional<size_t> taken_input(size_t o) const {
    const std::optional<size_t> overwritten = specs_[o].overwrites;
    if (overwritten && call_.op_call().has(*overwritten)) return overwritten;
    const auto shared = placement_.shared.find(o);
    return shared == placement_.shared.end() ? std::nullopt : std::optional<size_t>(shared->second);
  }

  void place_outputs() {
    for (size_t o = 0; o < specs_.size(); ++o) {
      if (const std::optional<size_t> input = taken_input(o)) {
        outputs_.push_back(const_cast<void*>(inputs_[*input]));
        taken_.insert(*input);
      } else {
        outputs_.push_back(place("output " + std::to_string(o), specs_[o].type.bytes()));
      }
    }
  }

  void check_guards(const std::string& after) {
    for (size_t b = 0; b < buffers_.size(); ++b) add_fault(after, names_[b], buffers_[b].guard_fault());
    add_fault(after, "the workspace", workspace_.guard_fault());
  }

  void add_fault(const std::string& after, const std::string& buffer, const std::string& fault) {
    if (!fault.empty()) result_.faults.push_back(buffer + " after " + after + ": " + fault);
  }

  void check_inputs() {
    for (size_t i = 0; i < call_.inputs.size(); ++i) {
      if (!inputs_[i] || taken_.contains(i) || packed_.contains(i)) continue;
      if (std::memcmp(inputs_[i], call_.inputs[i].data(), call_.inputs[i].size()) != 0) {
        result_.faults.push_back("input " + std::to_string(i) + " was changed");
      }
    }
  }

  void collect_outputs() {
    for (size_t o = 0; o < specs_.size(); ++o) {
      const std::byte* data = static_cast<const std::byte*>(outputs_[o]);
      result_.outputs.emplace_back(data, data + specs_[o].type.bytes());
    }
  }

  const Kernel& kernel_;
  const KernelCall& call_;
  const Placement& placement_;
  const std::vector<OutputSpec> specs_;
  GuardedBuffer workspace_;
  std::vector<GuardedBuffer> buffers_;
  std::vector<std::string> names_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
  std::set<size_t> packed_, taken_;
  RunResult result_;
};

// Inputs that an output overwrites, or that the kernel gets packed: no other output may lie there.
std::set<size_t> unshareable(const Kernel& kernel, const KernelCall& call, const std::vector<OutputSpec>& specs) {
  std::set<size_t> inputs;
  for (const PackedInput& packed : kernel.packed_inputs()) inputs.insert(packed.input);
  for (const OutputSpec& spec : specs) {
    if (spec.overwrites && call.op_call().has(*spec.overwrites)) inputs.insert(*spec.overwrites);
  }
  return inputs;
}

}  // namespace

RunResult run_kernel(const Kernel& kernel, const KernelCall& call, const Placement& placement) {
  return Run(kernel, call, placement).finish();
}

std::vector<Placement> placements(const Kernel& kernel, const KernelCall& call) {
  std::vector<Placement> all = {{}, {.poison = std::byte{0x7E}, .lines = 5, .name = "fresh, elsewhere"}};
  const std::vector<OutputSpec> specs = call.op->outputs(call.op_call());
  const std::set<size_t> taken = unshareable(kernel, call, specs);
  Placement most{.name = "as much shared as may be"};
  std::set<size_t> used = taken;
  for (size_t o = 0; o < specs.size(); ++o) {
    if (specs[o].overwrites && call.op_call().has(*specs[o].overwrites)) continue;
    for (const size_t input : specs[o].may_share) {
      if (!call.op_call().has(input) || taken.contains(input)) continue;
      const std::string name = "output " + std::to_string(o) + " on input " + std::to_string(input);
      all.push_back({.shared = {{o, input}}, .lines = 1, .name = name});
      if (!most.shared.contains(o) && used.insert(input).second) most.shared[o] = input;
    }
  }
  if (most.shared.size() > 1) all.push_back(most);
  return all;
}

}  // namespace tidemark::ops::testing
