#include "framework/compile/costs.h"

#include <algorithm>

namespace tidemark::compile {
namespace {

// Of one core of a server: what matrix products reach, and what passes over memory reach.
constexpr double kFlopsPerNanosecond = 100;
constexpr double kBytesPerNanosecond = 10;
constexpr double kCallNanoseconds = 2000;

}  // namespace

int64_t EstimatedCosts::nanoseconds(const Graph& graph, NodeId id, const LoweredNode& lowered) {
  const Node& node = graph.node(id);
  double work = 0;
  if (lowered.packed_which >= 0) {
    work = 2.0 * static_cast<double>(graph.value(node.outputs[0]).type.bytes()) / kBytesPerNanosecond;
  } else {
    const Cost cost = ops_.find(node.op).cost({node.attributes, lowered.plain_inputs});
    const double moved = static_cast<double>(cost.bytes_read + cost.bytes_written) / kBytesPerNanosecond;
    work = std::max(cost.flops / kFlopsPerNanosecond, moved);
  }
  return static_cast<int64_t>(kCallNanoseconds + work / threads_);
}

std::optional<int64_t> sum_costs(const Graph& graph, const LoweredNodes& lowered, Costs& costs, bool measure) {
  if (measure) costs.prepare(graph, lowered);
  int64_t sum = 0;
  for (NodeId id : graph.order()) {
    const auto known = costs.known(graph, id, lowered.at(id));
    if (!known) return std::nullopt;
    sum += *known;
  }
  return sum;
}

}  // namespace tidemark::compile
