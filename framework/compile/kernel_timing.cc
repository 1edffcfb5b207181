#include "framework/compile/kernel_timing.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "base/error.h"
#include "base/thread_time.h"
#include "framework/compile/cost_file.h"

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

int64_t time_kernel(const Graph& graph, const Node& node, const LoweredNode& lowered, int64_t room_bytes) {
  const int64_t copies = copies_within(room_bytes, graph, node, lowered);
  return Bench(graph, node, lowered, copies).least_nanoseconds();
}

}  // namespace tidemark::compile
