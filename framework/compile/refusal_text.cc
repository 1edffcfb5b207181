#include "framework/compile/refusal_text.h"

#include <algorithm>

#include "base/bytes.h"

namespace tidemark::compile {
namespace {

std::string sized(int64_t bytes) { return std::to_string(bytes) + " bytes (" + format_bytes(bytes) + ")"; }

}  // namespace

std::string refusal_text(const RefusedBudget& refused, const Body& plain, const Instruction* peak) {
  std::string text = "arena for '" + refused.program + "/" + plain.name + "' needs " + sized(plain.peak_bytes) +
                     ", budget is " + sized(refused.budget_bytes);
  const auto largest = std::ranges::max_element(plain.trace.buffers, {}, &memory::Buffer::bytes);
  if (largest != plain.trace.buffers.end()) {
    const auto i = static_cast<size_t>(largest - plain.trace.buffers.begin());
    text += "; largest tensor of the body is '" + plain.buffer_names[i] + "' (" + format_bytes(largest->bytes) + ")";
  }
  const bool by_default = refused.planner == kDefaultPlanner;
  text += "; with recomputation " + (by_default ? "" : "by '" + refused.planner + "' ") +
          "the least budget that works is " + sized(refused.least_bytes);
  if (peak != nullptr) text += ", set by '" + peak->node + "' (" + peak->op + ")";
  return text + "; no schedule at all needs less than " + sized(refused.least_conceivable_bytes) + "; " +
         (by_default ? "" : "set memory.recompute: auto, ") +
         "raise memory.budget (only whole pages of the device count) or lower memory.micro_batch";
}

}  // namespace tidemark::compile
