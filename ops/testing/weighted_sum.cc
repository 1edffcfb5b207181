#include "ops/testing/weighted_sum.h"

#include <algorithm>
#include <cstring>

#include "graph/autodiff.h"
#include "ops/add/add.h"
#include "ops/op_rules.h"

namespace tidemark::ops::testing {
namespace {

class WeightedSumOp : public Op {
 public:
  std::string_view name() const override { return "weighted_sum"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    for (size_t i = 0; i + 1 < call.inputs.size(); i += 2) require_type(name(), call, i + 1, "r", call.input(i));
    return {{.type = {DType::f32, {1}}}};
  }
  void gradient(GradientContext& context) const override {
    for (size_t i = 0; i < context.forward().inputs.size(); i += 2) {
      if (!context.needs_gradient(i)) continue;
      const std::string node = "r" + std::to_string(i / 2);
      context.add_gradient(i, context.emit("weighted_sum_grad", node, {context.input(i + 1)})[0]);
    }
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 0); }
};

class WeightedSumGradOp : public Op {
 public:
  std::string_view name() const override { return "weighted_sum_grad"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override { return {{.type = call.input(0)}}; }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 0); }
};

class WeightedSumKernel : public Kernel {
 public:
  explicit WeightedSumKernel(const OpCall& call) {
    for (size_t i = 0; i < call.inputs.size(); i += 2) counts_.push_back(call.input(i).shape.elements());
  }
  void run(const KernelArgs& args) const override {
    double sum = 0;
    for (size_t pair = 0; pair < counts_.size(); ++pair) {
      const float* y = static_cast<const float*>(args.inputs[2 * pair]);
      const float* r = static_cast<const float*>(args.inputs[2 * pair + 1]);
      for (int64_t i = 0; i < counts_[pair]; ++i) sum += double{r[i]} * y[i];
    }
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(sum);
  }

 private:
  std::vector<int64_t> counts_;
};

class CopyKernel : public Kernel {
 public:
  explicit CopyKernel(int64_t bytes) : bytes_(bytes) {}
  void run(const KernelArgs& args) const override {
    std::memcpy(args.outputs[0], args.inputs[0], static_cast<size_t>(bytes_));
  }

 private:
  int64_t bytes_;
};

std::unique_ptr<Kernel> make_sum(const KernelRequest& request, std::string&) {
  return std::make_unique<WeightedSumKernel>(request.call);
}

std::unique_ptr<Kernel> make_copy(const KernelRequest& request, std::string&) {
  return std::make_unique<CopyKernel>(request.call.input(0).bytes());
}

// An op that lives in another table.
class BorrowedOp : public Op {
 public:
  explicit BorrowedOp(const Op& op) : op_(op) {}
  std::string_view name() const override { return op_.name(); }
  std::vector<OutputSpec> outputs(const OpCall& call) const override { return op_.outputs(call); }
  void gradient(GradientContext& context) const override { op_.gradient(context); }
  Cost cost(const OpCall& call) const override { return op_.cost(call); }
  bool may_run_twice() const override { return op_.may_run_twice(); }

 private:
  const Op& op_;
};

// The loss, and what autodiff adds gradients up with.
std::vector<OpDefinition> gradient_check_ops() {
  std::vector<OpDefinition> ops;
  ops.push_back({std::make_unique<WeightedSumOp>(), {{"cpu:weighted_sum", KernelDevice::cpu, make_sum}}});
  ops.push_back({std::make_unique<WeightedSumGradOp>(), {{"cpu:weighted_sum_grad", KernelDevice::cpu, make_copy}}});
  ops.push_back(add_op());
  ops.push_back(add_into_op());
  return ops;
}

}  // namespace

OpSet with_gradient_check_ops(const OpSet& ops) {
  OpSet all;
  const std::vector<std::string_view> names = ops.table().names();
  for (OpDefinition& definition : gradient_check_ops()) {
    const bool is_there = std::find(names.begin(), names.end(), definition.op->name()) != names.end();
    if (!is_there) all.add(std::move(definition));
  }
  for (const std::string_view name : names) {
    all.add({std::make_unique<BorrowedOp>(ops.table().find(name)), ops.kernels(name)});
  }
  return all;
}

}  // namespace tidemark::ops::testing
