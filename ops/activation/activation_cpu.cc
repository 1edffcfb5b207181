#include "base/parallel.h"
#include "ops/activation/activation_kernels.h"
#include "ops/activation/activation_simd.h"
#include "ops/partition.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

using Unary = decltype(&isa_v2::gelu_range);
using Binary = decltype(&isa_v2::gelu_grad_range);

class UnaryCpu : public Kernel {
 public:
  UnaryCpu(int64_t count, int threads, Unary range)
      : count_(count), threads_(useful_threads(threads, count)), range_(range) {}

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* y = static_cast<float*>(args.outputs[0]);
    parallel_for(
        threads_, count_, [&](int64_t begin, int64_t end, int) { range_(x + begin, y + begin, end - begin); },
        kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  const Unary range_;
};

class BinaryCpu : public Kernel {
 public:
  BinaryCpu(int64_t count, int threads, Binary range)
      : count_(count), threads_(useful_threads(threads, count)), range_(range) {}

  void run(const KernelArgs& args) const override {
    const float* a = static_cast<const float*>(args.inputs[0]);
    const float* dy = static_cast<const float*>(args.inputs[1]);
    float* dz = static_cast<float*>(args.outputs[0]);
    parallel_for(
        threads_, count_,
        [&](int64_t begin, int64_t end, int) { range_(a + begin, dy + begin, dz + begin, end - begin); },
        kElementsPerCacheLine);
  }

 private:
  const int64_t count_;
  const int threads_;
  const Binary range_;
};

template <class Cpu, class Range>
std::unique_ptr<Kernel> make_f32(const KernelRequest& request, std::string& why_not, Range range) {
  const ValueType& type = request.call.input(0);
  if (type.dtype != DType::f32) {
    why_not = "takes f32 only";
    return nullptr;
  }
  return std::make_unique<Cpu>(type.shape.elements(), request.threads, range);
}

std::unique_ptr<Kernel> make_gelu(const KernelRequest& request, std::string& why_not) {
  return make_f32<UnaryCpu>(request, why_not, TM_SIMD_CHOICE(gelu_range));
}

std::unique_ptr<Kernel> make_gelu_grad(const KernelRequest& request, std::string& why_not) {
  return make_f32<BinaryCpu>(request, why_not, TM_SIMD_CHOICE(gelu_grad_range));
}

std::unique_ptr<Kernel> make_relu(const KernelRequest& request, std::string& why_not) {
  return make_f32<UnaryCpu>(request, why_not, TM_SIMD_CHOICE(relu_range));
}

std::unique_ptr<Kernel> make_relu_grad(const KernelRequest& request, std::string& why_not) {
  return make_f32<BinaryCpu>(request, why_not, TM_SIMD_CHOICE(relu_grad_range));
}

}  // namespace

std::vector<KernelEntry> gelu_kernels() { return {{"cpu:gelu", KernelDevice::cpu, make_gelu}}; }
std::vector<KernelEntry> gelu_grad_kernels() { return {{"cpu:gelu_grad", KernelDevice::cpu, make_gelu_grad}}; }
std::vector<KernelEntry> relu_kernels() { return {{"cpu:relu", KernelDevice::cpu, make_relu}}; }
std::vector<KernelEntry> relu_grad_kernels() { return {{"cpu:relu_grad", KernelDevice::cpu, make_relu_grad}}; }

}  // namespace tidemark::ops
