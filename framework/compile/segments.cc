#include "framework/compile/segments.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark::compile {

int64_t round_up(int64_t bytes, int64_t alignment) { return (bytes + alignment - 1) / alignment * alignment; }

const Tensor* Segment::find(std::string_view name) const {
  const auto found = std::ranges::find(tensors, name, &Tensor::name);
  return found == tensors.end() ? nullptr : &*found;
}

namespace {

void place_value(Segment& segment, const Value& value, const std::string& body, int64_t alignment,
                 int64_t guard_bytes) {
  if (const Tensor* known = segment.find(value.name)) {
    if (known->type == value.type) return;
    throw Error(ErrorCode::config, "value '" + value.name + "' is " + to_string(value.type) + " in body '" + body +
                                       "' but " + to_string(known->type) +
                                       " in an earlier body; bodies of one program must agree");
  }
  Tensor tensor;
  tensor.name = value.name;
  tensor.type = value.type;
  tensor.category = value.category;
  tensor.scope = value.scope;
  tensor.offset = round_up(segment.bytes + guard_bytes, alignment);
  segment.bytes = tensor.offset + tensor.bytes() + guard_bytes;
  segment.tensors.push_back(std::move(tensor));
}

}  // namespace

Segment place_segment(const std::vector<BodySpec>& bodies, Scope scope, bool only_shared, int64_t base,
                      int64_t alignment, int64_t guard_bytes) {
  Segment segment;
  segment.bytes = base;
  for (const BodySpec& body : bodies) {
    if (only_shared && !body.shares_step_segment) continue;
    for (const Value& value : body.graph.values()) {
      if (value.external() && value.scope == scope) place_value(segment, value, body.name, alignment, guard_bytes);
    }
  }
  return segment;
}

}  // namespace tidemark::compile
