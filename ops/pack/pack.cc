#include "ops/pack/pack.h"

#include "base/error.h"
#include "ops/op_rules.h"

namespace tidemark::ops {
namespace {

class Pack : public Op {
 public:
  std::string_view name() const override { return "pack"; }
  std::vector<OutputSpec> outputs(const OpCall& call) const override {
    require_inputs(name(), call, 1, 1);
    const int64_t bytes = call.attributes.integer("bytes");
    if (bytes < 1) {
      throw Error(ErrorCode::config, "op 'pack': wanted bytes >= 1, given " + std::to_string(bytes));
    }
    return {{.type = {DType::u8, {bytes}}, .category = Category::packed}};
  }
  Cost cost(const OpCall& call) const override { return operand_cost(*this, call, 0.0); }
};

}  // namespace

OpDefinition pack_op() { return {std::make_unique<Pack>(), {}}; }

}  // namespace tidemark::ops
