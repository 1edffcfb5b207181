#include "framework/runtime/dynamic_body.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "memory/allocator/allocator.h"

namespace tidemark::runtime {
namespace {

// By instruction: the buffers that it is the first to need, and those that nobody needs after it.
struct Turns {
  explicit Turns(const compile::UnplacedBody& body) : births(body.live.size()), deaths(body.live.size()) {
    for (size_t b = 0; b < body.trace.buffers.size(); ++b) {
      const memory::Interval& interval = body.trace.buffers[b].intervals.front();
      births[static_cast<size_t>(interval.begin)].push_back(b);
      deaths[static_cast<size_t>(interval.end) - 1].push_back(b);
    }
  }
  std::vector<std::vector<size_t>> births, deaths;
};

// all.size() if there is none.
template <class Named>
size_t index_of(const std::vector<Named>& all, const std::string& name) {
  return static_cast<size_t>(std::ranges::find(all, name, &Named::name) - all.begin());
}

}  // namespace

DynamicBody::DynamicBody(std::string key, compile::UnplacedBody body, const BodyBindings& bindings)
    : key_(std::move(key)),
      body_(std::move(body)),
      live_(std::make_shared<const std::vector<CategoryBytes>>(body_.live)) {
  for (const compile::UnplacedTensor& tensor : body_.placed) placed_.push_back(index_of(bindings.placed, tensor.name));
  for (const compile::UnplacedTensor& tensor : body_.externals) {
    inputs_.push_back(index_of(bindings.inputs, tensor.name));
    TM_CHECK(inputs_.back() < bindings.inputs.size(),
             "external value '" + tensor.name + "' of '" + key_ + "' has neither a place nor bytes");
  }
  for (size_t o = 0; o < bindings.outputs.size(); ++o)
    if (const size_t r = index_of(body_.results, bindings.outputs[o].name); r < body_.results.size())
      outputs_.emplace_back(o, r);
}

std::byte* DynamicBody::Addresses::of(const compile::UnplacedOperand& operand) const {
  if (operand.placed >= 0) return placed[static_cast<size_t>(operand.placed)];
  return operand.buffer < 0 ? nullptr : buffers[static_cast<size_t>(operand.buffer)];
}

void DynamicBody::bind(const compile::UnplacedInstruction& instruction, const Addresses& addresses,
                       BoundInstruction& bound) {
  bound.inputs.clear();
  bound.outputs.clear();
  for (const compile::UnplacedOperand& operand : instruction.inputs) bound.inputs.push_back(addresses.of(operand));
  for (const compile::UnplacedOperand& operand : instruction.outputs) bound.outputs.push_back(addresses.of(operand));
  bound.workspace = addresses.of({instruction.workspace, -1});
}

void DynamicBody::run_instruction(const compile::UnplacedInstruction& instruction, const BoundInstruction& bound) {
  if (instruction.packed_which >= 0) {
    instruction.kernel->pack(static_cast<size_t>(instruction.packed_which), bound.inputs[0], bound.outputs[0],
                             bound.workspace);
  } else {
    instruction.kernel->run({bound.inputs, bound.outputs, bound.workspace, nullptr});
  }
}

void DynamicBody::check_same(bool same) const {
  TM_CHECK(same, "bindings of '" + key_ + "' have other names or sizes than at its first run");
}

bool DynamicBody::take_placed(const BodyBindings& bindings, Addresses& to) const {
  bool moved = to.placed.size() != placed_.size();
  to.placed.resize(placed_.size());
  for (size_t i = 0; i < placed_.size(); ++i) {
    check_same(placed_[i] < bindings.placed.size() && bindings.placed[placed_[i]].name == body_.placed[i].name);
    std::byte* bytes = bindings.placed[placed_[i]].bytes;
    moved |= to.placed[i] != bytes;
    to.placed[i] = bytes;
  }
  return moved;
}

void DynamicBody::copy_in(const BodyBindings& bindings, const Addresses& to) const {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    const compile::UnplacedTensor& tensor = body_.externals[i];
    check_same(inputs_[i] < bindings.inputs.size() && bindings.inputs[inputs_[i]].name == tensor.name);
    const std::span<const std::byte> bytes = bindings.inputs[inputs_[i]].bytes;
    check_same(static_cast<int64_t>(bytes.size()) == tensor.bytes);
    std::memcpy(to.of(tensor.at), bytes.data(), bytes.size());
  }
}

void DynamicBody::copy_out(const BodyBindings& bindings, const Addresses& from) const {
  for (const auto& [o, r] : outputs_) {
    const compile::UnplacedTensor& tensor = body_.results[r];
    check_same(o < bindings.outputs.size() && bindings.outputs[o].name == tensor.name);
    const std::span<std::byte> bytes = bindings.outputs[o].bytes;
    check_same(static_cast<int64_t>(bytes.size()) == tensor.bytes);
    std::memcpy(bytes.data(), from.of(tensor.at), bytes.size());
  }
}

void DynamicBody::run_unplanned(memory::Allocator& allocator, const BodyBindings& bindings, const Position& at) {
  const std::vector<memory::Buffer>& buffers = body_.trace.buffers;
  const Turns turns(body_);
  std::vector<memory::Block> blocks(buffers.size());
  Addresses addresses{std::vector<std::byte*>(buffers.size()), {}};
  take_placed(bindings, addresses);
  BoundInstruction bound;
  for (size_t i = 0; i < turns.births.size(); ++i) {
    for (size_t b : turns.births[i]) {
      const int from = body_.takes_over[b];
      blocks[b] = from >= 0 ? std::move(blocks[static_cast<size_t>(from)])
                            : memory::Block(allocator, {.bytes = buffers[b].bytes, .category = buffers[b].category});
      addresses.buffers[b] = blocks[b].data();
    }
    if (i == 0) copy_in(bindings, addresses);
    at(i);
    if (i < body_.instructions.size()) {
      bind(body_.instructions[i], addresses, bound);
      run_instruction(body_.instructions[i], bound);
    }
    if (i + 1 == turns.deaths.size()) copy_out(bindings, addresses);
    for (size_t b : turns.deaths[i]) blocks[b] = {};
  }
}

void DynamicBody::bind_plan(std::byte* block) {
  base_ = block;
  addresses_.buffers.resize(plan_->offsets.size());
  for (size_t b = 0; b < plan_->offsets.size(); ++b) addresses_.buffers[b] = block + plan_->offsets[b];
  bound_.resize(body_.instructions.size());
  for (size_t i = 0; i < bound_.size(); ++i) bind(body_.instructions[i], addresses_, bound_[i]);
}

void DynamicBody::run_planned(memory::Allocator& allocator, const BodyBindings& bindings, const Position& at) {
  memory::Block block;
  if (plan_->peak_bytes > 0)
    block = memory::Block(allocator, {.bytes = plan_->peak_bytes, .category = Category::activations});
  const bool moved = take_placed(bindings, addresses_);
  if (moved || base_ != block.data() || bound_.size() != body_.instructions.size()) bind_plan(block.data());
  copy_in(bindings, addresses_);
  for (size_t i = 0; i < bound_.size(); ++i) {
    at(i);
    run_instruction(body_.instructions[i], bound_[i]);
  }
  copy_out(bindings, addresses_);
}

}  // namespace tidemark::runtime
