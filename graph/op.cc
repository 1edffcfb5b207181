#include "graph/op.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tidemark {
namespace {

// Levenshtein distance, by rows.
size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

const ValueType& OpCall::input(size_t i) const {
  if (!has(i)) throw Error(ErrorCode::config, "input " + std::to_string(i) + " is missing");
  return *inputs[i];
}

void Op::gradient(GradientContext&) const {
  throw Error(ErrorCode::config, "op '" + std::string(name()) + "' has no gradient");
}

std::optional<SampleRule> Op::samples(const OpCall&) const { return std::nullopt; }

void OpTable::add(std::unique_ptr<Op> op) {
  std::string name(op->name());
  const bool added = ops_.emplace(name, std::move(op)).second;
  TM_CHECK(added, "op '" + name + "' is in the table already");
}

const Op& OpTable::find(std::string_view name) const {
  if (const auto found = ops_.find(name); found != ops_.end()) return *found->second;
  std::string message = "unknown op '" + std::string(name) + "'";
  const auto nearest = std::min_element(ops_.begin(), ops_.end(), [&](const auto& a, const auto& b) {
    return edit_distance(name, a.first) < edit_distance(name, b.first);
  });
  if (nearest != ops_.end()) message += "; the nearest is '" + nearest->first + "'";
  throw Error(ErrorCode::config, message);
}

std::vector<std::string_view> OpTable::names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, op] : ops_) names.push_back(name);
  return names;
}

std::vector<std::optional<ValueType>> input_types(const Graph& graph, const Node& node) {
  std::vector<std::optional<ValueType>> types;
  for (ValueId id : node.inputs) {
    types.push_back(id.valid() ? std::optional(graph.value(id).type) : std::nullopt);
  }
  return types;
}

}  // namespace tidemark
