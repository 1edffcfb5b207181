// What an instruction costs, for the planners that weigh running it again.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "framework/compile/lowering.h"
#include "graph/graph.h"

namespace tidemark::compile {

// How far prepare() is: `node` is measured next; none when all are done.
struct Measuring {
  std::string_view graph;
  std::string_view node;
  int64_t done = 0;
  int64_t missing = 0;    // of this graph at the start, figures that nodes share counted once
  std::string_view file;  // that keeps figures: once done == missing all of them; empty: none does
};

class Costs {
 public:
  virtual ~Costs() = default;
  // Finds out, in one go, what is missing for the graph's nodes: what takes time takes it here.
  virtual void prepare(const Graph&, const LoweredNodes&) {}
  // The figure, if nothing has to be measured for it.
  virtual std::optional<int64_t> known(const Graph& graph, NodeId node, const LoweredNode& lowered) {
    return nanoseconds(graph, node, lowered);
  }
  // Nanoseconds of one run of the node with its kernel; at least 1. The same at every call, except that
  // MeasuredCosts::measure_again replaces figures.
  virtual int64_t nanoseconds(const Graph& graph, NodeId node, const LoweredNode& lowered) = 0;
};

// Of one run of all nodes. Without `measure` nothing where a figure is missing.
std::optional<int64_t> sum_costs(const Graph& graph, const LoweredNodes& lowered, Costs& costs, bool measure);

// From the declared FLOPs and bytes and round figures of a CPU core: where nothing was measured.
class EstimatedCosts : public Costs {
 public:
  // `ops` must outlive the object.
  EstimatedCosts(const OpTable& ops, int threads) : ops_(ops), threads_(threads) {}
  int64_t nanoseconds(const Graph& graph, NodeId node, const LoweredNode& lowered) override;

 private:
  const OpTable& ops_;
  int threads_;
};

}  // namespace tidemark::compile
