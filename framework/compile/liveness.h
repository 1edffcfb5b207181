// Lifetimes: an ordered graph with its kernels becomes a plain trace for the offset planners.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "framework/compile/lowering.h"
#include "graph/graph.h"
#include "memory/trace/trace.h"

namespace tidemark::compile {

struct LivenessOptions {
  int64_t alignment = 64;
  int64_t guard_bytes = 0;              // added before and after every buffer
  bool step_values_are_placed = false;  // Scope::step storages lie in the step segment: no buffers for them
  // Further storages, by their first version, whose bytes lie elsewhere; may be empty.
  std::function<bool(const Value&)> is_placed;
};

// Storages and workspaces of the body area. Step i of the trace is the i-th node of the order.
struct Liveness {
  memory::Trace trace;
  std::vector<std::string> names;      // parallel to trace.buffers
  std::vector<int> buffer_of_value;    // by value id; -1: in a segment, absent from the order, or never used
  std::vector<int> workspace_of_node;  // by position in the order; -1: none
  std::vector<int> takes_over;         // by buffer: the one of its alias group that dies where it is born; -1: none
};

// Storage = a value and all versions that overwrite it. It lives from its first producer (external: from the start) to
// its last reader (results: to the end). An output that may share an input's bytes shares its alias group if that input
// dies at this node; every storage shares with at most one predecessor and one successor.
Liveness find_liveness(const Graph& graph, const LoweredNodes& lowered, const LivenessOptions& options);

}  // namespace tidemark::compile
