// One body of the dynamic executor: what it is bound to, and its plan once it has one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/compile/unplaced_body.h"
#include "framework/runtime/dynamic_executor.h"

namespace tidemark::runtime {

class DynamicBody {
 public:
  // What is told before each instruction: its index.
  using Position = std::function<void(size_t instruction)>;

  // TM_CHECK: every external value is bound.
  DynamicBody(std::string key, compile::UnplacedBody body, const BodyBindings& bindings);

  const std::string& key() const { return key_; }
  const compile::UnplacedBody& body() const { return body_; }
  // Bytes by category at every instruction; outlives the body for whoever reads it.
  const std::shared_ptr<const std::vector<CategoryBytes>>& live() const { return live_; }

  bool is_planned() const { return plan_.has_value(); }
  void set_plan(memory::OffsetPlan plan) { plan_ = std::move(plan); }

  // Both throw what the allocator and the kernels throw; no block is held afterwards.
  void run_unplanned(memory::Allocator& allocator, const BodyBindings& bindings, const Position& at);
  void run_planned(memory::Allocator& allocator, const BodyBindings& bindings, const Position& at);

 private:
  struct Addresses {
    std::vector<std::byte*> buffers;
    std::vector<std::byte*> placed;
    std::byte* of(const compile::UnplacedOperand& operand) const;
  };
  // Operands of one instruction as the kernel takes them.
  struct BoundInstruction {
    std::vector<const void*> inputs;
    std::vector<void*> outputs;
    std::byte* workspace = nullptr;
  };

  static void bind(const compile::UnplacedInstruction& instruction, const Addresses& addresses,
                   BoundInstruction& bound);
  static void run_instruction(const compile::UnplacedInstruction& instruction, const BoundInstruction& bound);
  // True if something lies elsewhere than `to` says.
  bool take_placed(const BodyBindings& bindings, Addresses& to) const;
  void copy_in(const BodyBindings& bindings, const Addresses& to) const;
  void copy_out(const BodyBindings& bindings, const Addresses& from) const;
  void bind_plan(std::byte* block);
  void check_same(bool same) const;

  const std::string key_;
  const compile::UnplacedBody body_;
  const std::shared_ptr<const std::vector<CategoryBytes>> live_;
  std::optional<memory::OffsetPlan> plan_;
  // Indices into the bindings: parallel to body.placed and to body.externals; of the outputs that the body has, each
  // with its result.
  std::vector<size_t> placed_, inputs_;
  std::vector<std::pair<size_t, size_t>> outputs_;

  // Of the last planned run.
  Addresses addresses_;
  std::byte* base_ = nullptr;
  std::vector<BoundInstruction> bound_;
};

}  // namespace tidemark::runtime
