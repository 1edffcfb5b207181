// What an instruction costs, for the planners that weigh running it again.
#pragma once

#include <cstdint>

#include "framework/compile/lowering.h"
#include "graph/graph.h"

namespace tidemark::compile {

class Costs {
 public:
  virtual ~Costs() = default;
  // Nanoseconds of one run of the node with its kernel; at least 1. Deterministic for the life of the object.
  virtual int64_t nanoseconds(const Graph& graph, NodeId node, const LoweredNode& lowered) = 0;
};

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
