#include "framework/compile/measured_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <variant>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"
#include "device/host_memory.h"
#include "framework/compile/kernel_timing.h"

namespace tidemark::compile {
namespace {

std::string to_text(const Attribute& attribute) {
  struct Printer {
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return nlohmann::json(v).dump(); }
    std::string operator()(const std::string& v) const { return v; }
    std::string operator()(const std::vector<int64_t>& v) const { return nlohmann::json(v).dump(); }
  };
  return std::visit(Printer{}, attribute);
}

std::string key_of(const Graph& graph, const Node& node, const LoweredNode& lowered, int threads) {
  std::string key = lowered.kernel_name + "(";
  for (ValueId v : node.inputs) key += (v.valid() ? to_string(graph.value(v).type) : "-") + ",";
  key += ")";
  for (const auto& [name, value] : node.attributes.items()) key += name + "=" + to_text(value) + ",";
  return key + "threads=" + std::to_string(threads);
}

}  // namespace

CostChange change_between(const CostFigures& before, const CostFigures& now) {
  std::vector<double> ratios;
  for (const auto& [key, old] : before) ratios.push_back(static_cast<double>(now.at(key)) / static_cast<double>(old));
  CostChange change{.compared = static_cast<int64_t>(ratios.size())};
  if (ratios.empty()) return change;
  std::ranges::sort(ratios);
  change.changed = std::ranges::count_if(ratios, [](double r) { return std::abs(r - 1) > kNoticedChange; });
  change.least_ratio = ratios.front();
  change.median_ratio = (ratios[(ratios.size() - 1) / 2] + ratios[ratios.size() / 2]) / 2;
  change.greatest_ratio = ratios.back();
  return change;
}

MeasuredCosts::MeasuredCosts(std::string path, int threads, std::function<int64_t()> room)
    : path_(std::move(path)), threads_(threads), room_(std::move(room)), nanoseconds_(read_cost_file(path_)) {
  if (!room_) room_ = [] { return HostMemory().committable_bytes(); };
}

void MeasuredCosts::prepare(const Graph& graph, const LoweredNodes& lowered) {
  if (missing(graph, lowered).empty()) return;
  const auto writer = become_writer();
  if (writer) nanoseconds_.merge(read_cost_file(path_));  // what another process has measured by now
  try {
    measure(graph, lowered, missing(graph, lowered), writer.get());
  } catch (...) {
    write(writer.get());
    throw;
  }
  write(writer.get());
}

MeasuredCosts::Missing MeasuredCosts::missing(const Graph& graph, const LoweredNodes& lowered) const {
  Missing missing;
  for (NodeId id : graph.order()) {
    std::string key = key_of(graph, graph.node(id), lowered.at(id), threads_);
    if (!(again_ ? fresh_ : nanoseconds_).contains(key)) missing.emplace(std::move(key), id);
  }
  return missing;
}

void MeasuredCosts::measure(const Graph& graph, const LoweredNodes& lowered, const Missing& missing,
                            CostFileWriter* writer) {
  if (missing.empty()) return;
  Measuring now{.graph = graph.name(), .missing = static_cast<int64_t>(missing.size()), .file = path_};
  auto kept = std::chrono::steady_clock::now();
  for (const auto& [key, id] : missing) {
    now.node = graph.node(id).name;
    if (tell_) tell_(now);
    obey_stop(now, writer);
    measure_one(key, graph, id, lowered.at(id));
    ++now.done;
    if (std::chrono::steady_clock::now() - kept < std::chrono::duration<double>(kKeepSeconds)) continue;
    write(writer);
    kept = std::chrono::steady_clock::now();
    now.file = path_;
  }
  write(writer);
  now.node = {};
  now.file = path_;
  if (tell_) tell_(now);
  obey_stop(now, writer);
}

void MeasuredCosts::obey_stop(const Measuring& now, CostFileWriter* writer) {
  if (!stop_ || !stop_()) return;
  write(writer);  // before it is said
  const std::string kept = path_.empty() ? "nothing was written" : "kept in " + path_ + ", nothing else was written";
  throw MeasuringStopped(fmt::format("interrupted while measuring costs of '{}': {} of {} done; {}", now.graph,
                                     now.done, now.missing, kept));
}

std::optional<int64_t> MeasuredCosts::known(const Graph& graph, NodeId id, const LoweredNode& lowered) {
  const auto found = nanoseconds_.find(key_of(graph, graph.node(id), lowered, threads_));
  return found == nanoseconds_.end() ? std::nullopt : std::optional(found->second);
}

int64_t MeasuredCosts::nanoseconds(const Graph& graph, NodeId id, const LoweredNode& lowered) {
  const std::string key = key_of(graph, graph.node(id), lowered, threads_);
  const auto found = nanoseconds_.find(key);
  return found == nanoseconds_.end() ? measure_one(key, graph, id, lowered) : found->second;
}

int64_t MeasuredCosts::measure_one(const std::string& key, const Graph& graph, NodeId id, const LoweredNode& lowered) {
  const int64_t figure = time_kernel(graph, graph.node(id), lowered, room_());
  ++measured_;
  is_saved_ = false;
  if (const auto found = nanoseconds_.find(key); found != nanoseconds_.end()) before_.emplace(key, found->second);
  return nanoseconds_[key] = fresh_[key] = figure;
}

void MeasuredCosts::save() {
  if (is_saved_) return;
  write(become_writer().get());
}

std::unique_ptr<CostFileWriter> MeasuredCosts::become_writer() {
  if (path_.empty()) return nullptr;
  try {
    return std::make_unique<CostFileWriter>(path_, on_waiting_);
  } catch (const Error& error) {
    do_without_file(error);
    return nullptr;
  }
}

void MeasuredCosts::write(CostFileWriter* writer) {
  if (writer == nullptr || path_.empty() || is_saved_) return;
  try {
    if (again_) {
      writer->put(fresh_);
    } else {
      writer->add(nanoseconds_);
    }
    is_saved_ = true;
  } catch (const Error& error) {
    do_without_file(error);
  }
}

void MeasuredCosts::do_without_file(const Error& why) {
  if (!on_not_kept_) throw why;
  path_.clear();
  on_not_kept_(why);
}

std::string MeasuredCosts::digest() const {
  std::string text;
  for (const auto& [key, value] : nanoseconds_) text += key + ' ' + std::to_string(value) + '\n';
  return sha256_hex(text);
}

}  // namespace tidemark::compile
