#include "base/parallel.h"
#include "ops/add/add_kernels.h"
#include "ops/add/add_simd.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class AddCpu : public Kernel {
 public:
  AddCpu(int64_t count, int threads) : count_(count), threads_(useful_threads(threads, count)) {}

  void run(const KernelArgs& args) const override {
    const float* a = static_cast<const float*>(args.inputs[0]);
    const float* b = static_cast<const float*>(args.inputs[1]);
    float* out = static_cast<float*>(args.outputs[0]);
    parallel_for(
        threads_, count_,
        [&](int64_t begin, int64_t end, int) { add_range_(a + begin, b + begin, out + begin, end - begin); },
        kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  decltype(&isa_v2::add_range) add_range_ = TM_SIMD_CHOICE(add_range);
};

}  // namespace

std::unique_ptr<Kernel> make_add_cpu(const KernelRequest& request, std::string& why_not) {
  if (request.call.input(0).dtype != DType::f32) {
    why_not = "takes f32 only";
    return nullptr;
  }
  return std::make_unique<AddCpu>(request.call.input(0).shape.elements(), request.threads);
}

}  // namespace tidemark::ops
