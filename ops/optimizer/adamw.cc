#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/optimizer/optimizer.h"
#include "ops/optimizer/optimizer_simd.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

enum Operand : size_t { kParam, kGrad, kM, kV, kHyper, kGradScale };

class AdamwUpdateOp : public Op {
 public:
  std::string_view name() const override { return "adamw_update"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 5, 6);
    const ValueType& param = call.input(kParam);
    require_type(name(), call, kGrad, "grad", param);
    require_type(name(), call, kM, "m", param);
    require_type(name(), call, kV, "v", param);
    require_type(name(), call, kHyper, "hyper", {DType::f32, {4}});
    require_type(name(), call, kGradScale, "grad_scale", {DType::f32, {1}});
    for (const char* attribute : {"beta1", "beta2", "eps", "weight_decay"}) call.attributes.real(attribute);
    return {{.type = param, .category = Category::weights, .overwrites = kParam},
            {.type = param, .suffix = "m", .category = Category::optimizer, .overwrites = kM},
            {.type = param, .suffix = "v", .category = Category::optimizer, .overwrites = kV}};
  }

  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, 15.0 * static_cast<double>(call.input(kParam).shape.elements()));
  }

  bool may_run_twice() const override { return false; }
};

class AdamwUpdateCpu : public Kernel {
 public:
  AdamwUpdateCpu(const OpCall& call, int threads)
      : count_(call.input(kParam).shape.elements()),
        threads_(useful_threads(threads, count_)),
        has_scale_(call.has(kGradScale)),
        fixed_{.beta1 = static_cast<float>(call.attributes.real("beta1")),
               .beta2 = static_cast<float>(call.attributes.real("beta2")),
               .eps = static_cast<float>(call.attributes.real("eps")),
               .weight_decay = static_cast<float>(call.attributes.real("weight_decay")),
               .one_minus_beta1 = static_cast<float>(1 - call.attributes.real("beta1")),
               .one_minus_beta2 = static_cast<float>(1 - call.attributes.real("beta2"))} {}

  void run(const KernelArgs& args) const override {
    const float* hyper = static_cast<const float*>(args.inputs[kHyper]);
    AdamwStep step = fixed_;
    step.lr = hyper[0];
    step.m_correction = hyper[1];
    step.v_correction = hyper[2];
    step.grad_scale = has_scale_ ? *static_cast<const float*>(args.inputs[kGradScale]) : 1.0f;
    const float* grad = static_cast<const float*>(args.inputs[kGrad]);
    float* param = static_cast<float*>(args.outputs[0]);
    float* m = static_cast<float*>(args.outputs[1]);
    float* v = static_cast<float*>(args.outputs[2]);
    const auto update = [&](int64_t begin, int64_t end, int) {
      adamw_range_(step, param + begin, grad + begin, m + begin, v + begin, end - begin);
    };
    parallel_for(threads_, count_, update, kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  const bool has_scale_;
  const AdamwStep fixed_;
  decltype(&isa_v2::adamw_range) adamw_range_ = TM_SIMD_CHOICE(adamw_range);
};

std::unique_ptr<Kernel> make_adamw_update_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<AdamwUpdateCpu>(request.call, request.threads);
}

}  // namespace

OpDefinition adamw_update_op() {
  return {std::make_unique<AdamwUpdateOp>(), {{"cpu:adamw_update", KernelDevice::cpu, make_adamw_update_cpu}}};
}

}  // namespace tidemark::ops
