#include "ops/layer_norm/layer_norm_cuda.h"

#include "ops/cuda_launch.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

const float* input(const KernelArgs& args, size_t i) {
  return i < args.inputs.size() ? static_cast<const float*>(args.inputs[i]) : nullptr;
}

float* output(const KernelArgs& args, size_t i) { return static_cast<float*>(args.outputs[i]); }

class LayerNormCuda : public Kernel {
 public:
  LayerNormCuda(LayerNormLaunch* launch, const Shape& x, double eps)
      : launch_(launch), rows_(leading_elements(x)), channels_(x.dim(-1)), eps_(static_cast<float>(eps)) {}

  void run(const KernelArgs& args) const override {
    const LayerNormLaunchArgs launch_args = {.rows = rows_,
                                             .channels = channels_,
                                             .eps = eps_,
                                             .x = input(args, 0),
                                             .gamma = input(args, 1),
                                             .beta = input(args, 2),
                                             .y = output(args, 0),
                                             .mean = output(args, 1),
                                             .rstd = output(args, 2)};
    check_launch("layer_norm", launch_(launch_args, args.stream));
  }

 private:
  LayerNormLaunch* const launch_;
  const int64_t rows_, channels_;
  const float eps_;
};

class LayerNormGradCuda : public Kernel {
 public:
  LayerNormGradCuda(LayerNormGradLaunch* launch, const Shape& x)
      : launch_(launch), rows_(leading_elements(x)), channels_(x.dim(-1)) {}

  void run(const KernelArgs& args) const override {
    const LayerNormGradLaunchArgs launch_args = {.rows = rows_,
                                                 .channels = channels_,
                                                 .dy = input(args, 0),
                                                 .x = input(args, 1),
                                                 .gamma = input(args, 2),
                                                 .mean = input(args, 3),
                                                 .rstd = input(args, 4),
                                                 .acc_dx = input(args, 5),
                                                 .acc_dgamma = input(args, 6),
                                                 .acc_dbeta = input(args, 7),
                                                 .dx = output(args, 0),
                                                 .dgamma = output(args, 1),
                                                 .dbeta = output(args, 2)};
    check_launch("layer_norm_grad", launch_(launch_args, args.stream));
  }

 private:
  LayerNormGradLaunch* const launch_;
  const int64_t rows_, channels_;
};

}  // namespace

std::unique_ptr<Kernel> make_layer_norm_cuda(LayerNormLaunch* launch, const KernelRequest& request,
                                             std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<LayerNormCuda>(launch, request.call.input(0).shape, request.call.attributes.real("eps"));
}

std::unique_ptr<Kernel> make_layer_norm_grad_cuda(LayerNormGradLaunch* launch, const KernelRequest& request,
                                                  std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<LayerNormGradCuda>(launch, request.call.input(1).shape);
}

}  // namespace tidemark::ops
