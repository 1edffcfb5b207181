// memory.debug: catches what a wrong plan or a wrong kernel does to other tensors, and names both.
//
// - Ranges whose lifetime is over are filled with a NaN that carries a mark (kDeadPattern).
// - Before an instruction reads a tensor, its bytes must still belong to it: a plan that let somebody else take them is
//   reported with both tensors and the op. The segments' tensors always belong to themselves.
// - The guard bytes around every buffer of the body area are checked after each instruction that was given the buffer.
// - After each instruction its f32 outputs are searched for the mark: an op that read dead bytes behind the plan's
//   back.
//
// Costs a pass over every operand; for tests and hunts, not for training.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "framework/runtime/executor.h"

namespace tidemark::runtime {

inline constexpr uint32_t kDeadPattern = 0x7fc0dead;  // a quiet NaN; arithmetic keeps its payload
inline constexpr uint32_t kGuardPattern = 0x5a5a5a5a;

class MemoryDebugger : public ExecutionObserver {
 public:
  // The program must have been compiled with debug_guards. All of the arena's body area is filled with kDeadPattern at
  // the start of every body. `arena_bytes`: where it ends, for an arena without room for bodies that never run.
  MemoryDebugger(const compile::Program& program, std::byte* arena) : MemoryDebugger(arena, program.arena_bytes) {}
  MemoryDebugger(std::byte* arena, int64_t arena_bytes) : arena_(arena), arena_bytes_(arena_bytes) {}

  void body_begins(const compile::Body& body) override;
  // Both throw Error(device): "use of 'layer1/x' by 'layer2/y' (op matmul, kernel onednn:matmul) in body 'step[32]'
  // outside its lifetime: its bytes at offset 4096 belong to 'layer1/z'".
  void before(const compile::Body& body, size_t instruction) override;
  void after(const compile::Body& body, size_t instruction) override;

 private:
  // Who holds which bytes of the arena: half-open ranges, not overlapping.
  struct Owner {
    int64_t end = 0;
    std::string name;
    int buffer = -1;
  };

  void take(int64_t begin, int64_t end, const std::string& name, int buffer);
  void release(const compile::Body& body, size_t instruction);
  void check_owner(const compile::Body& body, const compile::Instruction& instruction, size_t input) const;
  void check_guards(const compile::Body& body, const compile::Instruction& instruction) const;
  void check_outputs(const compile::Body& body, const compile::Instruction& instruction) const;

  std::byte* arena_;
  const int64_t arena_bytes_;
  std::map<int64_t, Owner> owners_;  // by begin
};

}  // namespace tidemark::runtime
