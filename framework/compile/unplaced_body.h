// A body compiled alone: kernels, order and lifetimes, without offsets. For bytes that are found when it runs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/compile/compile.h"
#include "memory/arena/offset_planner.h"

namespace tidemark::compile {

// Where an operand's bytes are: at a buffer of the trace, or placed elsewhere; both -1: absent.
struct UnplacedOperand {
  int buffer = -1;
  int placed = -1;  // index into UnplacedBody::placed
};

struct UnplacedInstruction {
  std::string node;
  std::shared_ptr<const ops::Kernel> kernel;
  int packed_which = -1;  // >= 0: this instruction is kernel->pack(packed_which, ...)
  std::vector<UnplacedOperand> inputs;
  std::vector<UnplacedOperand> outputs;
  int workspace = -1;  // buffer
};

struct UnplacedTensor {
  std::string name;
  int64_t bytes = 0;
  UnplacedOperand at;
};

struct UnplacedBody {
  std::string name;
  std::vector<UnplacedInstruction> instructions;
  std::vector<UnplacedTensor> placed;     // of the names that were asked for, those that the body has
  std::vector<UnplacedTensor> externals;  // that hold their bytes at the start and have a buffer
  std::vector<UnplacedTensor> results;    // that hold their bytes at the end
  memory::Trace trace;                    // step i is instruction i
  std::vector<int> takes_over;            // by buffer: the one whose bytes it may take where that one dies; -1: none
  bool updates_run_values = false;        // overwrites values of Scope::run
  std::vector<CategoryBytes> live;        // bytes of the buffers by instruction, what is taken over counted once

  // The most that its buffers need at an instruction if each has a block of its own: those above half a page in whole
  // pages, the others together in whole pages.
  int64_t blocks_peak_bytes(int64_t page_bytes) const;
};

// `placed`: values, by the name of their first version, that get no buffer. Of `options`: device, threads, alignment,
// updates_at_end. Throws as compile(); Error(config) if a value of Scope::run is not among `placed`.
UnplacedBody compile_unplaced(BodySpec spec, const std::vector<std::string>& placed, const ops::OpSet& ops,
                              const CompileOptions& options);

}  // namespace tidemark::compile
