#include "graph/gradient_sums.h"

#include "base/error.h"

namespace tidemark {

const GradientSums::Sum* GradientSums::find(ValueId of) const {
  const auto found = sums_.find(of);
  return found == sums_.end() ? nullptr : &found->second;
}

void GradientSums::start_with(ValueId of, ValueId accumulator) {
  sums_[of] = {.value = accumulator, .on_accumulator = true};
  ++holders_[graph_.storage(accumulator)];
}

void GradientSums::set_one(ValueId of) {
  if (has(of)) {
    throw Error(ErrorCode::config, "the gradient of '" + graph_.value(of).name +
                                       "' is 1 and more: use a loss for one sum only, and weight it where it is made");
  }
  sums_[of] = {};
}

void GradientSums::set(ValueId of, ValueId sum, NodeId contributor) {
  const bool accumulator = on_accumulator(of);
  release(of);
  sums_[of] = {sum, contributor, accumulator};
  ++holders_[graph_.storage(sum)];
}

void GradientSums::release(ValueId of) {
  const Sum* before = find(of);
  if (before == nullptr) return;
  if (before->value.valid()) --holders_[graph_.storage(before->value)];
  sums_.erase(of);
}

bool GradientSums::is_one(ValueId of) const {
  const Sum* sum = find(of);
  return sum != nullptr && !sum->value.valid();
}

ValueId GradientSums::sum(ValueId of) const {
  const Sum* sum = find(of);
  return sum == nullptr ? ValueId() : sum->value;
}

bool GradientSums::on_accumulator(ValueId of) const {
  const Sum* sum = find(of);
  return sum != nullptr && sum->on_accumulator;
}

bool GradientSums::contributed(ValueId of) const {
  const Sum* sum = find(of);
  return sum != nullptr && (!sum->on_accumulator || sum->contributor.valid());
}

bool GradientSums::is_contributor(ValueId of, NodeId node) const {
  const Sum* sum = find(of);
  return sum != nullptr && sum->contributor == node;
}

bool GradientSums::may_overwrite(ValueId of, NodeId contributor) const {
  const Sum* sum = find(of);
  if (sum == nullptr || !sum->value.valid()) return false;
  if (!exclusive_only_) return true;
  const bool ours = sum->on_accumulator || is_backward_value(sum->value);
  if (!ours || sum->contributor == contributor) return false;
  return holders_.at(graph_.storage(sum->value)) == 1;
}

}  // namespace tidemark
