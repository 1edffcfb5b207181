#include "graph/gradient_context.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark {

NodeGradientContext::NodeGradientContext(BackwardPass& pass, const Node& node)
    : pass_(pass), node_(node), types_(input_types(pass.graph_, node)) {}

std::string NodeGradientContext::where(size_t i) const {
  return "gradient rule of '" + node_.op + "', input " + std::to_string(i) + ": ";
}

ValueId NodeGradientContext::accumulator(size_t i) {
  if (!needs_gradient(i)) return ValueId();
  pass_.begin_contribution(input(i), node_.id);
  if (pass_.options_.sums_apart && pass_.is_parameter(input(i)) && !pass_.sums_.on_accumulator(input(i)))
    return ValueId();
  return pass_.sums_.may_overwrite(input(i), node_.id) ? pass_.sums_.sum(input(i)) : ValueId();
}

void NodeGradientContext::set_accumulated(size_t i, ValueId sum) {
  TM_CHECK(needs_gradient(i), where(i) + "nobody needs this gradient");
  TM_CHECK(pass_.graph_.value(sum).overwrites == pass_.sums_.sum(input(i)),
           where(i) + "the sum does not overwrite the accumulator");
  pass_.sums_.set(input(i), sum, node_.id);
}

void NodeGradientContext::add_gradient(size_t i, ValueId contribution) {
  if (!needs_gradient(i)) return;
  GradientSums& sums = pass_.sums_;
  if (!contribution.valid()) {
    const auto& outputs = node_.outputs;
    TM_CHECK(std::any_of(outputs.begin(), outputs.end(), [&](ValueId v) { return pass_.is_loss(v); }),
             where(i) + "the contribution is no value");
    sums.set_one(input(i));
    return;
  }
  TM_CHECK(pass_.graph_.value(contribution).type == input_type(i),
           where(i) + "the contribution is " + to_string(pass_.graph_.value(contribution).type) + ", the input " +
               to_string(input_type(i)));
  if (sums.is_one(input(i))) sums.set_one(input(i));  // throws: 1 and more
  pass_.begin_contribution(input(i), node_.id);
  const ValueId sum = sums.sum(input(i));
  if (sum.valid()) {
    const std::string_view op = sums.on_accumulator(input(i)) ? "add_into" : "add";
    contribution = emit(op, "add_gradient", {sum, contribution}, {}).at(0);
  }
  sums.set(input(i), contribution, node_.id);
}

std::vector<ValueId> NodeGradientContext::emit(std::string_view op, std::string_view name, std::vector<ValueId> inputs,
                                               Attributes attributes) {
  return pass_.builder_.node(op, node_.name + "/" + std::string(name), std::move(inputs), std::move(attributes));
}

}  // namespace tidemark
