#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_simd.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class SquaredNormOp : public Op {
 public:
  std::string_view name() const override { return "squared_norm"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 1);
    return {{.type = {DType::f32, {1}}}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, 2.0 * static_cast<double>(call.input(0).shape.elements()));
  }
};

class SquaredNormCpu : public Kernel {
 public:
  SquaredNormCpu(int64_t count, int threads)
      : count_(count), chunks_((count + kChunk - 1) / kChunk), threads_(useful_threads(threads, count)) {}

  int64_t workspace_bytes() const override { return chunks_ * static_cast<int64_t>(sizeof(double)); }

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    double* partial = reinterpret_cast<double*>(args.workspace);
    parallel_for(threads_, chunks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t chunk = begin; chunk < end; ++chunk) {
        const int64_t first = chunk * kChunk;
        partial[chunk] = sum_of_squares_(x + first, std::min(kChunk, count_ - first));
      }
    });
    double sum = 0;
    for (int64_t chunk = 0; chunk < chunks_; ++chunk) sum += partial[chunk];
    *static_cast<float*>(args.outputs[0]) = static_cast<float>(sum);
  }

 private:
  static constexpr int64_t kChunk = 32768;
  const int64_t count_, chunks_;
  const int threads_;
  decltype(&isa_v2::sum_of_squares) sum_of_squares_ = TM_SIMD_CHOICE(sum_of_squares);
};

std::unique_ptr<Kernel> make_squared_norm_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<SquaredNormCpu>(request.call.input(0).shape.elements(), request.threads);
}

}  // namespace

OpDefinition squared_norm_op() {
  return {std::make_unique<SquaredNormOp>(), {{"cpu:squared_norm", KernelDevice::cpu, make_squared_norm_cpu}}};
}

}  // namespace tidemark::ops
