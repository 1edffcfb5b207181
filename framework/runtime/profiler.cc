#include "framework/runtime/profiler.h"

#include <algorithm>

namespace tidemark::runtime {

void Profiler::before(const compile::Body&, size_t) { begin_ = std::chrono::steady_clock::now(); }

void Profiler::after(const compile::Body& body, size_t index) {
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  const compile::Instruction& instruction = body.instructions[index];
  OpTime& time = times_[{instruction.op, instruction.kernel_name}];
  time.op = instruction.op;
  time.kernel = instruction.kernel_name;
  ++time.calls;
  time.seconds += seconds;
}

std::vector<OpTime> Profiler::by_op() const {
  std::vector<OpTime> all;
  for (const auto& [key, time] : times_) all.push_back(time);
  std::ranges::sort(all, std::greater<>{}, &OpTime::seconds);
  return all;
}

}  // namespace tidemark::runtime
