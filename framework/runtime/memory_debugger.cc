#include "framework/runtime/memory_debugger.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace tidemark::runtime {
namespace {

void fill(std::byte* begin, std::byte* end, uint32_t pattern) {
  for (; begin + sizeof(pattern) <= end; begin += sizeof(pattern)) std::memcpy(begin, &pattern, sizeof(pattern));
}

// Offset of the first word that matches (or, for guards, does not match) the pattern; -1 if none.
int64_t find_word(const std::byte* data, int64_t bytes, uint32_t pattern, uint32_t mask, bool wanted) {
  for (int64_t at = 0; at + 4 <= bytes; at += 4) {
    uint32_t word = 0;
    std::memcpy(&word, data + at, sizeof(word));
    if (((word & mask) == pattern) == wanted) return at;
  }
  return -1;
}

struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

Range range_of(const compile::Body& body, int buffer) {
  const auto i = static_cast<size_t>(buffer);
  const int64_t begin = body.base + body.plan.offsets[i];
  return {begin, begin + body.trace.buffers[i].bytes};
}

// Buffers that the instruction is given: operands in the body area and its workspace.
std::vector<int> operand_buffers(const compile::Body& body, const compile::Instruction& instruction, size_t index) {
  std::vector<int> buffers;
  for (ValueId v : instruction.input_values)
    if (v.valid() && body.buffer_of_value[v.index()] >= 0) buffers.push_back(body.buffer_of_value[v.index()]);
  for (ValueId v : instruction.output_values)
    if (body.buffer_of_value[v.index()] >= 0) buffers.push_back(body.buffer_of_value[v.index()]);
  if (const int w = body.workspace_of_instruction[index]; w >= 0) buffers.push_back(w);
  return buffers;
}

// Results are read after the body.
bool is_result(const compile::Body& body, int buffer) {
  return std::ranges::any_of(body.graph.results(),
                             [&](ValueId v) { return body.buffer_of_value[v.index()] == buffer; });
}

std::string describe(const compile::Instruction& instruction) {
  return "'" + instruction.node + "' (op " + instruction.op + ", kernel " + instruction.kernel_name + ")";
}

}  // namespace

void MemoryDebugger::take(int64_t begin, int64_t end, const std::string& name, int buffer) {
  // Cut every owner that overlaps: what is left of it keeps its name, so that a later read of the lost part is caught.
  auto it = owners_.lower_bound(begin);
  if (it != owners_.begin() && std::prev(it)->second.end > begin) --it;
  while (it != owners_.end() && it->first < end) {
    const int64_t old_begin = it->first;
    const Owner old = it->second;
    it = owners_.erase(it);
    if (old_begin < begin) owners_[old_begin] = {begin, old.name, old.buffer};
    if (old.end > end) owners_[end] = old;
  }
  owners_[begin] = {end, name, buffer};
}

void MemoryDebugger::body_begins(const compile::Body& body) {
  owners_.clear();
  std::vector<Range> loaded;  // externals hold their bytes already
  for (const Value& value : body.graph.values()) {
    const int buffer = body.buffer_of_value[value.id.index()];
    if (!value.external() || buffer < 0) continue;
    const Range range = range_of(body, buffer);
    take(range.begin, range.end, value.name, buffer);
    fill(arena_ + range.begin, arena_ + range.begin + body.guard_bytes, kGuardPattern);
    fill(arena_ + range.end - body.guard_bytes, arena_ + range.end, kGuardPattern);
    loaded.push_back(range);
  }
  std::ranges::sort(loaded, {}, &Range::begin);
  int64_t at = body.base;
  for (const Range& range : loaded) {
    if (range.begin > at) fill(arena_ + at, arena_ + range.begin, kDeadPattern);
    at = std::max(at, range.end);
  }
  fill(arena_ + at, arena_ + arena_bytes_, kDeadPattern);
}

void MemoryDebugger::before(const compile::Body& body, size_t index) {
  const compile::Instruction& instruction = body.instructions[index];
  for (int buffer : operand_buffers(body, instruction, index)) {
    const Range range = range_of(body, buffer);
    const auto& intervals = body.trace.buffers[static_cast<size_t>(buffer)].intervals;
    const auto owner = owners_.find(range.begin);
    const bool held = owner != owners_.end() && owner->second.buffer == buffer;
    if (held || intervals.front().begin != static_cast<int64_t>(index)) continue;
    take(range.begin, range.end, body.buffer_names[static_cast<size_t>(buffer)], buffer);
    fill(arena_ + range.begin, arena_ + range.begin + body.guard_bytes, kGuardPattern);
    fill(arena_ + range.end - body.guard_bytes, arena_ + range.end, kGuardPattern);
  }
  for (size_t i = 0; i < instruction.input_values.size(); ++i) check_owner(body, instruction, i);
}

void MemoryDebugger::check_owner(const compile::Body& body, const compile::Instruction& instruction,
                                 size_t input) const {
  const ValueId value = instruction.input_values[input];
  if (!value.valid() || body.buffer_of_value[value.index()] < 0) return;
  const int buffer = body.buffer_of_value[value.index()];
  const Range range = range_of(body, buffer);
  const auto owner = owners_.find(range.begin);
  if (owner != owners_.end() && owner->second.end == range.end) {
    if (owner->second.buffer == buffer) return;
    // An output may have taken the bytes for this very instruction: allowed inside its alias group.
    const auto& mine = body.trace.buffers[static_cast<size_t>(buffer)];
    const auto& theirs = body.trace.buffers[static_cast<size_t>(owner->second.buffer)];
    const bool is_output = std::ranges::any_of(
        instruction.output_values, [&](ValueId v) { return body.buffer_of_value[v.index()] == owner->second.buffer; });
    if (is_output && mine.alias_group && mine.alias_group == theirs.alias_group) return;
  }
  const std::string holder = owner == owners_.end() ? "nobody" : "'" + owner->second.name + "'";
  throw Error(ErrorCode::device, "use of '" + body.graph.value(value).name + "' by " + describe(instruction) +
                                     " in body '" + body.name + "' outside its lifetime: its bytes at offset " +
                                     std::to_string(range.begin) + " belong to " + holder);
}

void MemoryDebugger::after(const compile::Body& body, size_t index) {
  check_guards(body, body.instructions[index]);
  check_outputs(body, body.instructions[index]);
  release(body, index);
}

void MemoryDebugger::check_guards(const compile::Body& body, const compile::Instruction& instruction) const {
  const auto index = static_cast<size_t>(&instruction - body.instructions.data());
  for (int buffer : operand_buffers(body, instruction, index)) {
    const Range range = range_of(body, buffer);
    for (const int64_t begin : {range.begin, range.end - body.guard_bytes}) {
      const int64_t at = find_word(arena_ + begin, body.guard_bytes, kGuardPattern, ~0U, false);
      if (at < 0) continue;
      throw Error(ErrorCode::device, describe(instruction) + " in body '" + body.name + "' wrote " +
                                         (begin == range.begin ? "before" : "behind") + " tensor '" +
                                         body.buffer_names[static_cast<size_t>(buffer)] + "': guard byte at offset " +
                                         std::to_string(begin + at) + " changed");
    }
  }
}

void MemoryDebugger::check_outputs(const compile::Body& body, const compile::Instruction& instruction) const {
  for (ValueId v : instruction.output_values) {
    const Value& value = body.graph.value(v);
    const int64_t offset = body.offset_of_value[v.index()];
    if (offset < 0 || value.type.dtype != DType::f32) continue;
    const int64_t at = find_word(arena_ + offset, value.type.bytes(), kDeadPattern, 0x7fffffffU, true);
    if (at < 0) continue;
    throw Error(ErrorCode::device, describe(instruction) + " in body '" + body.name + "' left dead bytes in '" +
                                       value.name + "' (element " + std::to_string(at / 4) +
                                       "): it did not write them, or read a tensor after its lifetime");
  }
}

void MemoryDebugger::release(const compile::Body& body, size_t index) {
  for (int buffer : operand_buffers(body, body.instructions[index], index)) {
    const auto& intervals = body.trace.buffers[static_cast<size_t>(buffer)].intervals;
    if (intervals.back().end != static_cast<int64_t>(index) + 1 || is_result(body, buffer)) continue;
    const Range range = range_of(body, buffer);
    const auto owner = owners_.find(range.begin);
    if (owner == owners_.end() || owner->second.buffer != buffer) continue;
    fill(arena_ + range.begin, arena_ + range.end, kDeadPattern);
    owners_.erase(owner);
  }
}

}  // namespace tidemark::runtime
