// Measured costs of instructions, kept in a file so that the same plan is made again. Note [Cost file]
//
// A figure is the least time of several runs of the kernel alone (until the least ones agree), in turns on several
// copies of operands of its own (as in a step, most operands come from memory), keyed by kernel, shapes, attributes and
// threads. Figures that the file has are never measured again: a plan is a function of configuration, device limits,
// seed and this file, whose digest is part of the plan. Delete the file to measure anew. The operands are on the plain
// heap, for one kernel at a time, and gone before the run takes its arena; as many copies as the machine has room for.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "framework/compile/costs.h"

namespace tidemark::compile {

class MeasuredCosts : public Costs {
 public:
  // Reads `path` if it exists. Throws Error(data) naming the file if it is no cost file; empty path: nothing is kept.
  // `room` is asked for the bytes that operands may take; by default those that this machine can give now.
  MeasuredCosts(std::string path, int threads, std::function<int64_t()> room = {});

  // Called before each measurement of prepare(), and once after the last.
  void on_measuring(std::function<void(const Measuring&)> tell) { tell_ = std::move(tell); }

  void prepare(const Graph& graph, const LoweredNodes& lowered) override;
  std::optional<int64_t> known(const Graph& graph, NodeId node, const LoweredNode& lowered) override;
  // Throws Error(out_of_memory) with both numbers if there is no room for one copy of the node's operands.
  int64_t nanoseconds(const Graph& graph, NodeId node, const LoweredNode& lowered) override;

  int64_t measured() const { return measured_; }  // figures that were missing
  // Adds the new figures to what the file holds by now; one writer at a time. Throws Error(io).
  void save() const;
  // SHA-256 of all figures.
  std::string digest() const;

 private:
  std::string path_;
  int threads_;
  std::function<int64_t()> room_;
  std::function<void(const Measuring&)> tell_;
  std::map<std::string, int64_t> nanoseconds_;
  int64_t measured_ = 0;
};

}  // namespace tidemark::compile
