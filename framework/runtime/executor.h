// Runs the bodies of a compiled program in an arena.
//
// Everything is bound to addresses when the executor is made; run() allocates nothing, and publishes where it is with
// one store, so that an exporter can look up live bytes by category without stopping it.
#pragma once

#include <atomic>
#include <cstddef>
#include <vector>

#include "framework/compile/program.h"

namespace tidemark::runtime {

// Sees every instruction of a body; for memory.debug and for measurements. Default: nothing.
class ExecutionObserver {
 public:
  virtual ~ExecutionObserver() = default;
  virtual void body_begins(const compile::Body& body) { (void)body; }
  virtual void before(const compile::Body& body, size_t instruction) { (void)body, (void)instruction; }
  virtual void after(const compile::Body& body, size_t instruction) { (void)body, (void)instruction; }
};

// Where execution stands: index of the body and of the instruction in it.
struct Position {
  uint32_t body = 0;
  uint32_t instruction = 0;
};

class Executor {
 public:
  // `program` and the arena's bytes (program.arena_bytes of them from `arena`, aligned as the program was compiled)
  // must outlive the executor; so must `observer`, which may be nullptr.
  Executor(const compile::Program& program, std::byte* arena, ExecutionObserver* observer = nullptr);

  // Throws what a kernel that can be refused throws, or the observer.
  void run(size_t body);

  std::byte* address(const compile::Tensor& tensor) const { return arena_ + tensor.offset; }
  const compile::Program& program() const { return program_; }

  // Readable from any thread.
  Position position() const;

 private:
  struct BoundInstruction {
    const ops::Kernel* kernel = nullptr;
    int packed_which = -1;
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::byte* workspace = nullptr;
  };

  void run_instruction(const BoundInstruction& instruction) const;

  const compile::Program& program_;
  std::byte* arena_;
  ExecutionObserver* observer_;
  std::vector<std::vector<BoundInstruction>> bodies_;
  std::atomic<uint64_t> position_{0};
};

}  // namespace tidemark::runtime
