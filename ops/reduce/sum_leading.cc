#include <vector>

#include "base/parallel.h"
#include "ops/op_rules.h"
#include "ops/partition.h"
#include "ops/reduce/reduce.h"
#include "ops/reduce/reduce_simd.h"
#include "ops/simd_choice.h"

namespace tidemark::ops {
namespace {

class SumLeadingOp : public Op {
 public:
  std::string_view name() const override { return "sum_leading"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 2);
    const ValueType sum{call.input(0).dtype, {call.input(0).shape.dim(-1)}};
    require_type(name(), call, 1, "acc", sum);
    return {{.type = sum, .category = Category::gradients, .overwrites = 1}};
  }
  std::optional<SampleRule> samples(const OpCall& call) const override {
    if (call.input(0).shape.rank() < 2) return std::nullopt;  // one row
    return SampleRule{.inputs = {0}, .sums = {{0, 1}}};
  }
  Cost cost(const OpCall& call) const override {
    return operand_cost(*this, call, static_cast<double>(call.input(0).shape.elements()));
  }
};

// Rows are cut into blocks by shape alone; threads share the blocks out, and their partial sums are added up in block
// order.
class SumLeadingCpu : public Kernel {
 public:
  SumLeadingCpu(const OpCall& call, int threads)
      : columns_(call.input(0).shape.dim(-1)),
        rows_(call.input(0).shape.elements() / columns_),
        blocks_(std::clamp<int64_t>(rows_ * columns_ / kLeastBlockElements, 1, std::min(rows_, kMostBlocks))),
        threads_(useful_threads(threads, rows_ * columns_)),
        has_acc_(call.has(1)) {}

  int64_t workspace_bytes() const override { return blocks_ * columns_ * static_cast<int64_t>(sizeof(float)); }

  void run(const KernelArgs& args) const override {
    const float* x = static_cast<const float*>(args.inputs[0]);
    float* partial = reinterpret_cast<float*>(args.workspace);
    parallel_for(threads_, blocks_, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        const PartBounds rows = part_bounds(rows_, static_cast<int>(blocks_), static_cast<int>(block));
        sum_rows_(x + rows.begin * columns_, rows.end - rows.begin, columns_, partial + block * columns_);
      }
    });
    float* out = static_cast<float*>(args.outputs[0]);
    const float* acc = has_acc_ ? static_cast<const float*>(args.inputs[1]) : nullptr;
    for (int64_t c = 0; c < columns_; ++c) {
      double sum = acc ? acc[c] : 0.0;
      for (int64_t block = 0; block < blocks_; ++block) sum += partial[block * columns_ + c];
      out[c] = static_cast<float>(sum);
    }
  }

 private:
  static constexpr int64_t kLeastBlockElements = 16384;
  static constexpr int64_t kMostBlocks = 64;
  const int64_t columns_, rows_, blocks_;
  const int threads_;
  const bool has_acc_;
  decltype(&isa_v2::sum_rows) sum_rows_ = TM_SIMD_CHOICE(sum_rows);
};

std::unique_ptr<Kernel> make_sum_leading_cpu(const KernelRequest& request, std::string& why_not) {
  if (!floats_are_f32(request.call, why_not)) return nullptr;
  return std::make_unique<SumLeadingCpu>(request.call, request.threads);
}

}  // namespace

OpDefinition sum_leading_op() {
  return {std::make_unique<SumLeadingOp>(), {{"cpu:sum_leading", KernelDevice::cpu, make_sum_leading_cpu}}};
}

}  // namespace tidemark::ops
