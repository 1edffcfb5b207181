#include "ops/accumulate_gradient.h"

namespace tidemark::ops {

void emit_accumulating(GradientContext& context, size_t i, std::string_view op, std::string_view name,
                       std::vector<ValueId> inputs, Attributes attributes) {
  const ValueId sum = context.accumulator(i);
  if (sum.valid()) inputs.push_back(sum);
  const ValueId gradient = context.emit(op, name, std::move(inputs), std::move(attributes))[0];
  if (sum.valid()) {
    context.set_accumulated(i, gradient);
  } else {
    context.add_gradient(i, gradient);
  }
}

}  // namespace tidemark::ops
