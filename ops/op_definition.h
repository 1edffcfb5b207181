// An op and its kernels, as one entry of the list in all_ops.cc.
//
// To add an op:
//   1. a folder ops/NAME/ with NAME.h (declares `OpDefinition NAME_op();`), NAME.cc (class derived from Op: shape rule,
//      gradient, cost), NAME_cpu.cc (kernel), NAME_test.cc (OpCases, see ops/testing/op_case.h) and a BUILD file;
//   2. one line in ops/all_ops.cc.
// What the op does with samples (Op::samples, a line) lets bodies with it run in smaller micro-batches with the same
// bits; op_case.h checks it. Without it they stay whole. To add a kernel for a device: one file in the folder, one line
// in the op's list of KernelEntry. An op that does something dear and then something cheap may say how it splits
// (SplitRule): recomputation then keeps what is dear to make and runs the cheap part again. op_case.h checks that the
// parts give the op's bits.
#pragma once

#include <memory>
#include <vector>

#include "ops/kernel.h"

namespace tidemark::ops {

// An operand of a part of a split: an input or an output of the whole.
struct PartOperand {
  bool of_outputs = false;
  size_t index = 0;
};

// A node that takes over some of the outputs of the node that is split.
struct NodePart {
  std::string op;
  std::string suffix;  // of the node's name: NODE/SUFFIX; empty: NODE
  Attributes attributes;
  std::vector<PartOperand> inputs;  // outputs of parts before this one, or inputs of the whole
  std::vector<size_t> outputs;      // positions among the outputs of the whole
};

// The parts of a call in order; together they give every output of the whole once, bit for bit, whatever the threads.
// Empty: this call does not split.
using SplitRule = std::vector<NodePart> (*)(const OpCall& call);

struct OpDefinition {
  std::unique_ptr<Op> op;
  std::vector<KernelEntry> kernels;  // in order of preference
  SplitRule split = nullptr;         // most ops are one thing
};

struct KernelRefusal {
  std::string kernel;
  std::string why;
};

struct KernelChoice {
  std::unique_ptr<Kernel> kernel;
  std::string name;
  std::vector<KernelRefusal> refused;  // those that were asked before
};

// All ops with their kernels: the shape side as an OpTable for graph/, the kernel side for the compiler.
class OpSet {
 public:
  void add(OpDefinition definition);
  const OpTable& table() const { return table_; }

  // The op's whole list, in order of preference. Error(config) for an unknown op.
  const std::vector<KernelEntry>& kernels(std::string_view op) const;

  // The parts of a call by the op's rule; empty if it does not split or has no rule. Error(config) for an unknown op.
  std::vector<NodePart> split(std::string_view op, const OpCall& call) const;

  // The first kernel of the list that takes the call: a function of op, shapes, dtype, device and threads alone, never
  // of budget or addresses. Of a node marked with kRowsOfGroup, one that takes a group alone, whatever their number,
  // and that is run group by group where the op sums over samples. Error(config) with every refusal if none does.
  KernelChoice choose_kernel(std::string_view op, KernelDevice device, const KernelRequest& request) const;

 private:
  OpTable table_;
  std::map<std::string, std::vector<KernelEntry>, std::less<>> kernels_;
  std::map<std::string, SplitRule, std::less<>> splits_;
};

}  // namespace tidemark::ops
