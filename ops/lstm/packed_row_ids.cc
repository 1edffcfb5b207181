#include "base/error.h"
#include "ops/lstm/lstm.h"
#include "ops/lstm/lstm_kernels.h"
#include "ops/lstm/packed_steps.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

constexpr uint32_t kStepStride = uint32_t{1} << 20;

class PackedRowIds : public Op {
 public:
  std::string_view name() const override { return "packed_row_ids"; }

  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 2, 2);
    const ValueType& ids = call.input(0);
    if (ids.dtype != DType::i32 || ids.shape.rank() != 1)
      refuse_operand(name(), "sample_ids", "i32[batch]", to_string(ids));
    require_type(name(), call, 1, "lengths", ids);
    const int64_t rows = call.attributes.integer("rows");
    if (rows < ids.shape[0]) {
      throw Error(ErrorCode::config, "op 'packed_row_ids', attribute 'rows': wanted at least the " +
                                         std::to_string(ids.shape[0]) + " samples, given " + std::to_string(rows));
    }
    return {{.type = {DType::i32, {rows}}}};
  }

  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 0); }
};

class PackedRowIdsCpu : public Kernel {
 public:
  explicit PackedRowIdsCpu(const OpCall& call)
      : batch_(call.input(0).shape[0]), rows_(call.attributes.integer("rows")) {}

  void run(const KernelArgs& args) const override {
    const int32_t* samples = static_cast<const int32_t*>(args.inputs[0]);
    const PackedLengths lengths{static_cast<const int32_t*>(args.inputs[1]), batch_, rows_};
    lengths.check();
    int32_t* ids = static_cast<int32_t*>(args.outputs[0]);
    lengths.for_each_step([&](const PackedStep& s) {
      const uint32_t of_step = kStepStride * static_cast<uint32_t>(s.step);
      for (int64_t i = 0; i < s.samples; ++i) {
        ids[s.first_row + i] = static_cast<int32_t>(static_cast<uint32_t>(samples[i]) + of_step);
      }
    });
  }

 private:
  const int64_t batch_, rows_;
};

}  // namespace

std::unique_ptr<Kernel> make_packed_row_ids_cpu(const KernelRequest& request, std::string&) {
  return std::make_unique<PackedRowIdsCpu>(request.call);
}

OpDefinition packed_row_ids_op() {
  return {std::make_unique<PackedRowIds>(), {{"cpu:packed_row_ids", KernelDevice::cpu, make_packed_row_ids_cpu}}};
}

}  // namespace tidemark::ops
