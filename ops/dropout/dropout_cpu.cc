#include <cstring>

#include "base/parallel.h"
#include "ops/dropout/dropout_kernels.h"
#include "ops/dropout/dropout_math.h"
#include "ops/dropout/dropout_simd.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class DropoutCpu : public Kernel {
 public:
  DropoutCpu(const OpCall& call, int threads)
      : samples_(call.input(0).shape.dim(0)),
        sample_elements_(call.input(0).shape.elements() / samples_),
        chunks_((sample_elements_ + kChunk - 1) / kChunk),
        p_(static_cast<float>(call.attributes.real("p"))),
        seed_(static_cast<uint64_t>(call.attributes.integer("seed"))),
        op_index_(static_cast<uint32_t>(call.attributes.integer("op_index"))),
        threads_(useful_threads(threads, samples_ * sample_elements_, 4096)) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* y = static_cast<float*>(args.outputs[0]);
    if (p_ == 0.0f) {
      copy(x, y);
      return;
    }
    const int32_t* sample_ids = static_cast<const int32_t*>(args.inputs[1]);
    const int32_t* step_state = static_cast<const int32_t*>(args.inputs[2]);
    parallel_for(threads_, samples_ * chunks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t sample = i / chunks_, first = i % chunks_ * kChunk;
        const int64_t offset = sample * sample_elements_ + first;
        const RandomSite site = dropout_site(seed_, op_index_, step_state, sample_ids[sample]);
        dropout_range_(site, first, x + offset, y + offset, std::min(kChunk, sample_elements_ - first), p_,
                       1 / (1 - p_));
      }
    });
  }

 private:
  void copy(const float* x, float* y) const {
    if (x != y) std::memcpy(y, x, static_cast<size_t>(samples_ * sample_elements_) * sizeof(float));
  }

  static constexpr int64_t kChunk = 4096;  // elements; a multiple of the generator's block of 4
  const int64_t samples_, sample_elements_, chunks_;
  const float p_;
  const uint64_t seed_;
  const uint32_t op_index_;
  const int threads_;
  decltype(&isa_v2::dropout_range) dropout_range_ = TM_SIMD_CHOICE(dropout_range);
};

}  // namespace

std::unique_ptr<Kernel> make_dropout_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<DropoutCpu>(request.call, request.threads);
}

}  // namespace tidemark::ops
