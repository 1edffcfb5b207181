// One run of one kernel on guarded buffers.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ops/testing/op_case.h"

namespace tidemark::ops::testing {

// What a kernel is called with: the node's types and the bytes of its inputs (empty for absent ones).
struct KernelCall {
  const Op* op = nullptr;
  Attributes attributes;
  std::vector<std::optional<ValueType>> types;
  std::vector<std::vector<std::byte>> inputs;

  OpCall op_call() const { return {attributes, types}; }
};

// Where outputs and inputs lie in a run.
struct Placement {
  std::map<size_t, size_t> shared;     // output -> the input whose address it is given
  std::byte poison = std::byte{0xFF};  // what fresh outputs and the workspace hold before the run
  int lines = 0;                       // buffers begin 64 * lines bytes beyond a page boundary
  std::string name = "fresh";          // for messages
};

struct RunResult {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<std::string> faults;  // writes outside, inputs that changed
};

// Packs what the kernel wants packed, runs it, and looks at every guard. An output that overwrites an input
// (OutputSpec) is always given its address.
RunResult run_kernel(const Kernel& kernel, const KernelCall& call, const Placement& placement);

// All fresh (twice, at different addresses and over different bytes), each allowed sharing alone, and as many sharings
// at once as there are. Sharing with a packed input is left out.
std::vector<Placement> placements(const Kernel& kernel, const KernelCall& call);

}  // namespace tidemark::ops::testing
