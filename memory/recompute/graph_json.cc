#include "memory/recompute/graph_json.h"

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <queue>
#include <set>
#include <unordered_map>

#include "base/error.h"
#include "base/file.h"

namespace tidemark::memory {
namespace {

using Json = nlohmann::json;

class GraphReader {
 public:
  GraphReader(std::string_view text, const std::string& name) : text_(text), name_(name) {}

  StepTrace run() {
    Json graph;
    try {
      graph = Json::parse(text_);
    } catch (const Json::parse_error& error) {
      fail(std::string("not valid JSON: ") + error.what());
    }
    read_nodes(member(graph, "nodes"));
    read_links(member(graph, "links"));
    return make_trace(order_of(graph));
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw Error(ErrorCode::data, name_ + ": " + what); }

  const Json& member(const Json& object, const char* key) const {
    const auto found = object.is_object() ? object.find(key) : object.end();
    if (!object.is_object() || found == object.end() || !found->is_array())
      fail(std::string("has no list '") + key + "'; expected networkx node-link JSON");
    return *found;
  }

  int64_t amount(const Json& node, const std::string& id, std::initializer_list<const char*> keys) const {
    std::string known;
    for (const char* key : keys) {
      known += (known.empty() ? "'" : " or '") + std::string(key) + "'";
      const auto found = node.find(key);
      if (found == node.end()) continue;
      const double number = found->is_number() ? found->get<double>() : -1;
      if (!(number >= 0) || number > 0x1p52 || number != std::floor(number))
        fail("node " + id + ": '" + key + "' is " + found->dump() + ", not a whole number from 0 to 2^52");
      return static_cast<int64_t>(number);
    }
    fail("node " + id + " has no " + known);
  }

  void read_nodes(const Json& nodes) {
    for (const Json& node : nodes) {
      const char* key = node.is_object() && node.contains("id") ? "id" : "name";
      if (!node.is_object() || !node.contains(key))
        fail("node number " + std::to_string(steps_.size()) + " has no 'id' or 'name'");
      const std::string id = node[key].dump();
      if (!index_.emplace(id, static_cast<int32_t>(steps_.size())).second) fail("node " + id + " is there twice");
      Step step;
      step.cost = amount(node, id, {"cost_cpu", "duration"});
      step.name = node.contains("name") && node["name"].is_string() ? node["name"].get<std::string>() : id;
      StepValue value;
      value.bytes = amount(node, id, {"cost_ram", "out_cost"});
      value.name = step.name;
      steps_.push_back(std::move(step));
      values_.push_back(std::move(value));
    }
    readers_.resize(steps_.size());
    inputs_.resize(steps_.size());
  }

  int32_t end_of(const Json& link, size_t number, const char* key, const char* other_key) const {
    const char* used = link.is_object() && link.contains(key) ? key : other_key;
    if (!link.is_object() || !link.contains(used))
      fail("link number " + std::to_string(number) + " has no '" + key + "' or '" + other_key + "'");
    const auto found = index_.find(link[used].dump());
    if (found == index_.end())
      fail("link number " + std::to_string(number) + ": '" + used + "' is " + link[used].dump() + ", which is no node");
    return found->second;
  }

  void read_links(const Json& links) {
    size_t number = 0;
    for (const Json& link : links) {
      const int32_t from = end_of(link, number, "source", "0");
      const int32_t to = end_of(link, number, "target", "1");
      ++number;
      if (inputs_[to].insert(from).second) readers_[from].push_back(to);
    }
  }

  std::vector<int32_t> order_of(const Json& graph) const {
    const auto info = graph.find("graph");
    if (info == graph.end() || !info->is_object() || !info->contains("order")) return topological_order();
    std::vector<int32_t> order;
    std::set<int32_t> seen;
    for (const Json& id : (*info)["order"]) {
      const auto found = index_.find(id.dump());
      if (found == index_.end()) fail("graph.order names " + id.dump() + ", which is no node");
      if (!seen.insert(found->second).second) fail("graph.order names " + id.dump() + " twice");
      order.push_back(found->second);
    }
    if (order.size() != steps_.size())
      fail("graph.order has " + std::to_string(order.size()) + " nodes of " + std::to_string(steps_.size()));
    return order;
  }

  // The lowest-numbered node whose inputs are all made comes next: the nodes' own order wherever that is topological.
  std::vector<int32_t> topological_order() const {
    std::vector<size_t> missing(steps_.size());
    std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
    for (size_t i = 0; i < steps_.size(); ++i) {
      missing[i] = inputs_[i].size();
      if (missing[i] == 0) ready.push(static_cast<int32_t>(i));
    }
    std::vector<int32_t> order;
    while (!ready.empty()) {
      const int32_t next = ready.top();
      ready.pop();
      order.push_back(next);
      for (int32_t reader : readers_[next])
        if (--missing[reader] == 0) ready.push(reader);
    }
    if (order.size() == steps_.size()) return order;
    for (size_t i = 0; i < steps_.size(); ++i)
      if (missing[i] > 0) fail("the links have a cycle, at or before node '" + steps_[i].name + "'");
    return order;
  }

  StepTrace make_trace(const std::vector<int32_t>& order) {
    std::vector<int32_t> position(order.size());
    for (size_t i = 0; i < order.size(); ++i) position[order[i]] = static_cast<int32_t>(i);
    StepTrace trace;
    trace.name = name_;
    for (size_t i = 0; i < order.size(); ++i) {
      Step step = std::move(steps_[order[i]]);
      for (int32_t input : inputs_[order[i]]) step.inputs.push_back(position[input]);
      step.outputs.push_back(static_cast<int32_t>(i));
      trace.steps.push_back(std::move(step));
      trace.values.push_back(std::move(values_[order[i]]));
    }
    validate(trace);
    return trace;
  }

  std::string_view text_;
  const std::string& name_;
  std::unordered_map<std::string, int32_t> index_;
  std::vector<Step> steps_;
  std::vector<StepValue> values_;
  std::vector<std::set<int32_t>> inputs_;
  std::vector<std::vector<int32_t>> readers_;
};

}  // namespace

StepTrace parse_graph_json(std::string_view text, const std::string& name) { return GraphReader(text, name).run(); }

StepTrace read_graph_json(const std::string& path) { return parse_graph_json(read_file(path), path); }

}  // namespace tidemark::memory
