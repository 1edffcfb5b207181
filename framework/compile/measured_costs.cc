#include "framework/compile/measured_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <new>
#include <nlohmann/json.hpp>
#include <span>
#include <variant>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/sha256.h"
#include "base/thread_time.h"
#include "device/host_memory.h"

namespace tidemark::compile {
namespace {

// A neighbour on the same cores makes single runs several times dearer. So what counts is the CPU time of the calling
// thread, which has its part of the work and waits for the others: time slices that it loses are not in it, and of what
// it waits for others that lost theirs the least of many runs is free. It is taken when the next ones agree with it.
constexpr size_t kLeastRuns = 6;
constexpr size_t kMostRuns = 200;
constexpr double kMostSeconds = 0.3;  // wall time
constexpr size_t kAgreeing = 3;       // the least runs
constexpr double kAgreement = 1.05;   // largest to least of them
// In a step an operand is seldom in the caches when it is read: runs take turns on copies of the operands.
constexpr int64_t kCopiesBytes = 64 << 20;  // of all copies together, beyond the first two
constexpr int64_t kMostCopies = 6;
constexpr size_t kAlignment = 4096;

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

// Floats of both signs and about one size: no zeros, which some kernels skip, and no denormals, which are slow. A
// pattern that repeats: random bits take longer than what is measured.
void fill(float* floats, int64_t count) {
  constexpr int64_t kPattern = 4093;
  uint32_t state = 1;
  for (int64_t i = 0; i < std::min(count, kPattern); ++i) {
    state = state * 1664525U + 1013904223U;  // Numerical Recipes, section 7.1
    const float size = 0.5F + static_cast<float>(state >> 9) * 0x1p-24F;
    floats[i] = (state >> 31) != 0 ? size : -size;
  }
  for (int64_t i = kPattern; i < count; i += kPattern) std::copy_n(floats, std::min(kPattern, count - i), floats + i);
}

// Bytes for one operand: floats as above, zeros for integers and packed bytes.
class Operand {
 public:
  explicit Operand(const ValueType& type) : Operand(type.bytes()) {
    if (type.dtype == DType::f32) fill(reinterpret_cast<float*>(data_.get()), type.shape.elements());
  }
  explicit Operand(int64_t bytes)
      : data_(static_cast<std::byte*>(
            ::operator new (static_cast<size_t>(std::max<int64_t>(bytes, 1)), std::align_val_t{kAlignment}))) {
    std::memset(data_.get(), 0, static_cast<size_t>(bytes));
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Delete {
    void operator()(std::byte* p) const { ::operator delete (p, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<std::byte, Delete> data_;
};

// What a node's kernel is called with.
class Operands {
 public:
  Operands(const Graph& graph, const Node& node) {
    for (ValueId v : node.inputs) inputs_.push_back(v.valid() ? add(graph.value(v).type) : nullptr);
    for (ValueId v : node.outputs) outputs_.push_back(output(graph, node, v));
  }
  std::span<const void* const> inputs() const { return inputs_; }
  std::span<void* const> outputs() const { return outputs_; }

 private:
  std::byte* add(const ValueType& type) { return operands_.emplace_back(type).data(); }

  void* output(const Graph& graph, const Node& node, ValueId v) {
    const ValueId before = graph.value(v).overwrites;
    const auto at = std::ranges::find(node.inputs, before);
    if (before.valid() && at != node.inputs.end())
      return const_cast<void*>(inputs_[static_cast<size_t>(at - node.inputs.begin())]);
    return add(graph.value(v).type);
  }

  std::vector<Operand> operands_;
  std::vector<const void*> inputs_;
  std::vector<void*> outputs_;
};

int64_t operand_bytes(const Graph& graph, const Node& node) {
  int64_t bytes = 0;
  for (const auto* values : {&node.inputs, &node.outputs})
    for (ValueId v : *values) bytes += v.valid() ? graph.value(v).type.bytes() : 0;
  return bytes;
}

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// How many copies of a node's operands there is room for; beyond it the system would not refuse but kill.
int64_t copies_within(int64_t room_bytes, const Graph& graph, const Node& node, const LoweredNode& lowered) {
  const int64_t bytes = std::max<int64_t>(operand_bytes(graph, node), 1);
  const int64_t room = room_bytes - lowered.kernel->workspace_bytes();
  if (bytes > room) {
    throw Error(ErrorCode::out_of_memory,
                fmt::format("measuring the cost of '{}' takes {} of host memory, {} can be had; take estimates (plan "
                            "--estimate) or a memory.cost_file from a larger machine",
                            node.name, format_bytes(bytes + lowered.kernel->workspace_bytes()),
                            format_bytes(std::max<int64_t>(room_bytes, 0))));
  }
  return std::min(room / bytes, std::clamp<int64_t>(kCopiesBytes / bytes, 2, kMostCopies));
}

// One kernel on operands of its own.
class Bench {
 public:
  Bench(const Graph& graph, const Node& node, const LoweredNode& lowered, int64_t copies)
      : lowered_(lowered), workspace_(lowered.kernel->workspace_bytes()) {
    for (int64_t i = 0; i < copies; ++i) copies_.emplace_back(graph, node);
  }

  int64_t least_nanoseconds() {
    std::vector<double> seconds;  // ascending
    const auto begin = std::chrono::steady_clock::now();
    for (const Operands& operands : copies_) run(operands);  // first touch and set-up are not the kernel's cost
    while (seconds.size() < kMostRuns &&
           (seconds.size() < kLeastRuns || (!agree(seconds) && seconds_since(begin) < kMostSeconds))) {
      const double before = thread_cpu_seconds();
      run(copies_[seconds.size() % copies_.size()]);
      const double run_seconds = thread_cpu_seconds() - before;
      seconds.insert(std::ranges::upper_bound(seconds, run_seconds), run_seconds);
    }
    return std::clamp<int64_t>(static_cast<int64_t>(seconds[0] * 1e9), 1, kMostCostNanoseconds);
  }

 private:
  static bool agree(const std::vector<double>& ascending) {
    return ascending[kAgreeing - 1] <= kAgreement * ascending[0];
  }

  void run(const Operands& operands) const {
    if (lowered_.packed_which >= 0) {
      lowered_.kernel->pack(static_cast<size_t>(lowered_.packed_which), operands.inputs()[0], operands.outputs()[0],
                            workspace_.data());
    } else {
      lowered_.kernel->run({operands.inputs(), operands.outputs(), workspace_.data(), nullptr});
    }
  }

  const LoweredNode& lowered_;
  std::vector<Operands> copies_;
  Operand workspace_;
};

}  // namespace

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
    if (seconds_since(kept) < kKeepSeconds) continue;
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
  const Node& node = graph.node(id);
  const int64_t copies = copies_within(room_(), graph, node, lowered);
  const int64_t figure = Bench(graph, node, lowered, copies).least_nanoseconds();
  ++measured_;
  is_saved_ = false;
  if (const auto found = nanoseconds_.find(key); found != nanoseconds_.end()) before_.emplace(key, found->second);
  return nanoseconds_[key] = fresh_[key] = figure;
}

CostChange MeasuredCosts::change() const {
  std::vector<double> ratios;
  for (const auto& [key, old] : before_)
    ratios.push_back(static_cast<double>(fresh_.at(key)) / static_cast<double>(old));
  CostChange change{.compared = static_cast<int64_t>(ratios.size())};
  if (ratios.empty()) return change;
  std::ranges::sort(ratios);
  change.changed = std::ranges::count_if(ratios, [](double r) { return std::abs(r - 1) > kNoticedChange; });
  change.least_ratio = ratios.front();
  change.median_ratio = ratios[ratios.size() / 2];
  change.greatest_ratio = ratios.back();
  return change;
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
