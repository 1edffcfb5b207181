#include "base/error.h"
#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/optimizer/optimizer.h"
#include "ops/optimizer/optimizer_simd.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

enum Operand : size_t { kParam, kGrad, kBuffer, kLr, kGradScale };

const ValueType kScalar{DType::f32, {1}};

class SgdUpdateOp : public Op {
 public:
  std::string_view name() const override { return "sgd_update"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 5);
    require_type(name(), call, kGrad, "grad", call.input(kParam));
    require_type(name(), call, kBuffer, "momentum_buffer", call.input(kParam));
    call.input(kLr);
    require_type(name(), call, kLr, "lr", kScalar);
    require_type(name(), call, kGradScale, "grad_scale", kScalar);
    require_buffer(call);
    std::vector<OutputSpec> specs = {{.type = call.input(kParam), .category = Category::weights, .overwrites = kParam}};
    if (call.has(kBuffer)) {
      specs.push_back(
          {.type = call.input(kParam), .suffix = "momentum", .category = Category::optimizer, .overwrites = kBuffer});
    }
    return specs;
  }

  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call,
                        (call.has(kBuffer) ? 8.0 : 5.0) * static_cast<double>(call.input(0).shape.elements()));
  }

  bool may_run_twice() const override { return false; }

 private:
  static void require_buffer(const OpCall& call) {
    const bool wanted = call.attributes.real_or("momentum", 0) != 0 || call.attributes.boolean_or("nesterov", false);
    if (wanted && !call.has(kBuffer)) {
      throw Error(ErrorCode::config, "op 'sgd_update': momentum and nesterov need a momentum_buffer, given none");
    }
  }
};

class SgdUpdateCpu : public Kernel {
 public:
  SgdUpdateCpu(const OpCall& call, int threads)
      : count_(call.input(kParam).shape.elements()),
        threads_(useful_threads(threads, count_)),
        has_buffer_(call.has(kBuffer)),
        has_scale_(call.has(kGradScale)),
        fixed_{.momentum = static_cast<float>(call.attributes.real_or("momentum", 0)),
               .weight_decay = static_cast<float>(call.attributes.real_or("weight_decay", 0)),
               .nesterov = call.attributes.boolean_or("nesterov", false)} {}

  void run(const KernelArgs& args) const override {
    SgdStep step = fixed_;
    step.lr = *static_cast<const float*>(args.inputs[kLr]);
    step.grad_scale = has_scale_ ? *static_cast<const float*>(args.inputs[kGradScale]) : 1.0f;
    const float* grad = static_cast<const float*>(args.inputs[kGrad]);
    float* param = static_cast<float*>(args.outputs[0]);
    float* buffer = has_buffer_ ? static_cast<float*>(args.outputs[1]) : nullptr;
    const auto update = [&](int64_t begin, int64_t end, int) {
      if (buffer) {
        sgd_momentum_range_(step, param + begin, grad + begin, buffer + begin, end - begin);
      } else {
        sgd_range_(step, param + begin, grad + begin, end - begin);
      }
    };
    parallel_for(threads_, count_, update, kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  const bool has_buffer_, has_scale_;
  const SgdStep fixed_;
  decltype(&isa_v2::sgd_range) sgd_range_ = TM_SIMD_CHOICE(sgd_range);
  decltype(&isa_v2::sgd_momentum_range) sgd_momentum_range_ = TM_SIMD_CHOICE(sgd_momentum_range);
};

std::unique_ptr<Kernel> make_sgd_update_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<SgdUpdateCpu>(request.call, request.threads);
}

}  // namespace

OpDefinition sgd_update_op() {
  return {std::make_unique<SgdUpdateOp>(), {{"cpu:sgd_update", KernelDevice::cpu, make_sgd_update_cpu}}};
}

}  // namespace tidemark::ops
