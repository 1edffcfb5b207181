// One body with the segments under it, as one trace and plan over the whole arena: for drawings and for the independent
// check.
#pragma once

#include "framework/compile/program.h"

namespace tidemark::compile {

struct WholeArena {
  memory::Trace trace;      // every tensor of the segments in use (live throughout), then the body's buffers
  memory::OffsetPlan plan;  // offsets from the arena's start; peak and lower bound of the body
};

WholeArena whole_arena(const Program& program, const Body& body);

}  // namespace tidemark::compile
