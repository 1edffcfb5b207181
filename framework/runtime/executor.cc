#include "framework/runtime/executor.h"

namespace tidemark::runtime {

Executor::Executor(const compile::Program& program, std::byte* arena, ExecutionObserver* observer)
    : program_(program), arena_(arena), observer_(observer) {
  const auto at = [&](int64_t offset) { return offset < 0 ? nullptr : arena_ + offset; };
  for (const compile::Body& body : program.bodies) {
    std::vector<BoundInstruction> bound;
    for (const compile::Instruction& instruction : body.instructions) {
      BoundInstruction& b = bound.emplace_back();
      b.kernel = instruction.kernel.get();
      b.packed_which = instruction.packed_which;
      for (int64_t offset : instruction.inputs) b.inputs.push_back(at(offset));
      for (int64_t offset : instruction.outputs) b.outputs.push_back(at(offset));
      b.workspace = at(instruction.workspace);
    }
    bodies_.push_back(std::move(bound));
  }
}

void Executor::run_instruction(const BoundInstruction& b) const {
  if (b.packed_which >= 0) {
    b.kernel->pack(static_cast<size_t>(b.packed_which), b.inputs[0], b.outputs[0], b.workspace);
  } else {
    b.kernel->run({b.inputs, b.outputs, b.workspace, nullptr});
  }
}

void Executor::run(size_t body) {
  const compile::Body& compiled = program_.bodies[body];
  const auto& bound = bodies_[body];
  if (observer_ != nullptr) observer_->body_begins(compiled);
  for (size_t i = 0; i < bound.size(); ++i) {
    position_.store(uint64_t{body} << 32 | i, std::memory_order_relaxed);
    if (observer_ != nullptr) observer_->before(compiled, i);
    run_instruction(bound[i]);
    if (observer_ != nullptr) observer_->after(compiled, i);
  }
}

Position Executor::position() const {
  const uint64_t packed = position_.load(std::memory_order_relaxed);
  return {static_cast<uint32_t>(packed >> 32), static_cast<uint32_t>(packed)};
}

}  // namespace tidemark::runtime
