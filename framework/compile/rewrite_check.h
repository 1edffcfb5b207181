// Holds a body that recomputation has rewritten against checks that share no code with the rewriting.
#pragma once

#include "framework/compile/lowering.h"
#include "framework/compile/program.h"
#include "memory/recompute/recompute_planner.h"

namespace tidemark::compile {

// Empty, or the first fault as text: of the schedule (memory::find_plan_fault: every input is there, nothing runs twice
// that must not), of the rewritten graph (verify(); packed operands have the bytes that their kernels asked for), and
// of the offsets (memory::find_plan_fault of the body's buffers).
std::string find_rewrite_fault(const memory::StepTrace& trace, const memory::RecomputePlan& plan, const Body& body,
                               const LoweredNodes& lowered, const OpTable& ops);

}  // namespace tidemark::compile
