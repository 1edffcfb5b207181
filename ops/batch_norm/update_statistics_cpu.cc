#include <algorithm>

#include "base/error.h"
#include "ops/batch_norm/batch_norm_kernels.h"
#include "ops/batch_norm/batch_norm_shape.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

struct Update {
  double momentum, eps;
  int64_t count, last_count;  // values a channel in a full group, in the last one
};

class UpdateStatisticsCpu : public Kernel {
 public:
  UpdateStatisticsCpu(const Shape& statistics, const Update& update)
      : groups_(statistics[0]), channels_(statistics[1]), update_(update) {}

  // Outputs lie where the inputs 2, 3 and 4 do.
  void run(const KernelArgs& args) const override {
    const float *mean = static_cast<const float*>(args.inputs[0]), *rstd = static_cast<const float*>(args.inputs[1]);
    float* running_mean = static_cast<float*>(args.outputs[0]);
    float* running_variance = static_cast<float*>(args.outputs[1]);
    for (int64_t g = 0; g < groups_; ++g) {
      const int64_t count = g + 1 < groups_ ? update_.count : update_.last_count;
      // One value has no unbiased variance; its biased one, 0, is taken.
      const double unbias = static_cast<double>(count) / static_cast<double>(std::max<int64_t>(count - 1, 1));
      for (int64_t c = 0; c < channels_; ++c) {
        const double inverse = rstd[g * channels_ + c];
        const double variance = std::max(1.0 / (inverse * inverse) - update_.eps, 0.0);
        move(running_mean[c], mean[g * channels_ + c]);
        move(running_variance[c], variance * unbias);
      }
    }
    *static_cast<int32_t*>(args.outputs[2]) += static_cast<int32_t>(groups_);
  }

 private:
  void move(float& running, double to) const {
    running = static_cast<float>(running + update_.momentum * (to - running));
  }

  const int64_t groups_, channels_;
  const Update update_;
};

std::unique_ptr<Kernel> make_update(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  const Attributes& attributes = request.call.attributes;
  const int64_t count = attributes.integer("count");
  const Update update = {.momentum = attributes.real("momentum"),
                         .eps = attributes.real("eps"),
                         .count = count,
                         .last_count = attributes.integer_or("last_count", count)};
  return std::make_unique<UpdateStatisticsCpu>(batch_norm_update_shape(request.call), update);
}

}  // namespace

std::vector<KernelEntry> batch_norm_update_statistics_kernels() {
  return {{"cpu:batch_norm_update_statistics", KernelDevice::cpu, make_update}};
}

}  // namespace tidemark::ops
