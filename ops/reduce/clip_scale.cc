#include <cmath>

#include "base/error.h"
#include "ops/op_rules.h"
#include "ops/reduce/reduce.h"

namespace tidemark::ops {
namespace {

const ValueType kScalar{DType::f32, {1}};

class ClipScaleOp : public Op {
 public:
  std::string_view name() const override { return "clip_scale"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      call.input(i);
      require_type(name(), call, i, "n" + std::to_string(i + 1), kScalar);
    }
    const double max_norm = call.attributes.real("max_norm");
    if (!(max_norm > 0)) {
      throw Error(ErrorCode::config, "op 'clip_scale': max_norm must be above 0, given " + std::to_string(max_norm));
    }
    return {{.type = kScalar}, {.type = kScalar, .suffix = "norm"}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, static_cast<double>(call.inputs.size()) + 2);
  }
};

class ClipScaleCpu : public Kernel {
 public:
  explicit ClipScaleCpu(double max_norm) : max_norm_(max_norm) {}

  void run(const KernelArgs& args) const override {
    double sum = 0;
    for (const void* input : args.inputs) sum += double{*static_cast<const float*>(input)};
    const double norm = std::sqrt(sum), ratio = max_norm_ / norm;
    // Written so that a NaN norm gives a NaN scale: the run is then stopped with the step named, not silently
    // unclipped.
    *static_cast<float*>(args.outputs[0]) = ratio >= 1 ? 1.0f : static_cast<float>(ratio);
    *static_cast<float*>(args.outputs[1]) = static_cast<float>(norm);
  }

 private:
  const double max_norm_;
};

std::unique_ptr<Kernel> make_clip_scale_cpu(const KernelRequest& request, std::string&) {
  return std::make_unique<ClipScaleCpu>(request.call.attributes.real("max_norm"));
}

}  // namespace

OpDefinition clip_scale_op() {
  return {std::make_unique<ClipScaleOp>(), {{"cpu:clip_scale", KernelDevice::cpu, make_clip_scale_cpu}}};
}

}  // namespace tidemark::ops
