// A step trace in the form that the search works on: what is persistent is left out, what is there before the first
// step comes from a first step of its own, results are read by a last one. Doubles hold whole numbers below 2^53,
// exact.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/recompute/step_trace.h"

namespace tidemark::memory::recompute {

// A list of lists in one array.
class Lists {
 public:
  Lists() = default;
  explicit Lists(const std::vector<std::vector<int32_t>>& lists);
  std::span<const int32_t> operator[](size_t i) const {
    return {items_.data() + starts_[i], items_.data() + starts_[i + 1]};
  }

 private:
  std::vector<int32_t> starts_{0};
  std::vector<int32_t> items_;
};

struct Problem {
  int32_t step_count = 0;
  int32_t first_step = 0;  // trace step i is step i + first_step here
  int32_t trace_steps = 0;
  std::vector<double> cost;             // by step
  std::vector<double> workspace_bytes;  // by step
  // Step s may run again just before base step t if t <= last_repeat[s] (what it reads is overwritten later on); < s
  // for a step that never runs twice.
  std::vector<int32_t> last_repeat;
  Lists inputs;                      // values, by step
  Lists outputs;                     // values, by step
  std::vector<double> bytes;         // by value
  std::vector<int32_t> maker;        // step, by value
  std::vector<int32_t> predecessor;  // value whose bytes it takes over when that ends there, -1; by value
  Lists readers;                     // steps, by value
  double fixed_bytes = 0;
  double total_cost = 0;

  explicit Problem(const StepTrace& trace);
  int32_t value_count() const { return static_cast<int32_t>(bytes.size()); }
  bool may_repeat(int32_t step, int32_t stage) const { return stage <= last_repeat[step]; }
};

}  // namespace tidemark::memory::recompute
