// Graphs in, program out: lower to kernels, find lifetimes, plan offsets.
#pragma once

#include <string>
#include <vector>

#include "framework/compile/program.h"
#include "ops/op_definition.h"

namespace tidemark::compile {

struct BodySpec {
  std::string name;
  Graph graph;
  // True for bodies that run inside a step whose gradients stay between them (accumulation); their Scope::step externals
  // then keep their bytes from body to body. Otherwise such values are the body's own.
  bool shares_step_segment = false;
};

struct CompileOptions {
  std::string name = "program";          // of the model, for messages
  ops::KernelDevice device = ops::KernelDevice::cpu;
  int threads = 1;
  int64_t alignment = 64;                // bytes, power of two; CUDA wants 256
  std::string planner = "portfolio";     // see memory::all_offset_planners
  memory::OffsetPlannerOptions planner_options;
  bool debug_guards = false;             // memory.debug: kGuardBytes before and after every buffer
  // Node names of updates that wait for the end of the body instead of running as soon as they can; off by default,
  // on only in the test that shows what it saves.
  bool updates_at_end = false;
};

inline constexpr int64_t kGuardBytes = 64;

// Throws Error(config) for a graph that does not verify or has no kernel, and what the planner throws.
Program compile(std::vector<BodySpec> bodies, const ops::OpSet& ops, const CompileOptions& options);

}  // namespace tidemark::compile
