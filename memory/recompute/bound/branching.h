// Where branch and bound divides a box.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "memory/recompute/bound/linear_program.h"

namespace tidemark::memory::recompute {

// A variable or a count (numbered after the variables) that a solution leaves fractional.
struct BranchItem {
  int32_t index = -1;
  double value = 0;
  double score = 0;  // product of what both sides are expected to add to the bound

  // Side 0 is the whole number below the value, side 1 the one above.
  double distance(int side) const;
};

// Expectations are averages of what the same item gained before (pseudo costs); for an item without such, the average
// of all, weighted by the prices of its rows.
class Branching {
 public:
  explicit Branching(const LinearProgram& program);

  // Once, with multipliers of the program; before the rest.
  void weigh(const LinearProgram& program, const std::vector<double>& multipliers);
  // Best first.
  std::vector<BranchItem> items(const Box& box, const std::vector<double>& solution) const;
  Box narrowed(const Box& box, const BranchItem& item, int side) const;
  void learn(const BranchItem& item, int side, double gain);
  bool knows(const BranchItem& item) const;
  static double score(double gain_below, double gain_above);

 private:
  struct Experience {
    double gain[2] = {0, 0};  // per unit
    int count[2] = {0, 0};
  };

  double mean_gain(int side) const;
  double value_of(size_t index, const std::vector<double>& solution) const;

  int32_t variables_ = 0;
  std::vector<std::vector<int32_t>> counted_;  // by count: variables
  std::vector<Experience> experience_;         // by item
  std::vector<double> influence_;              // by item, about 1 on average
};

}  // namespace tidemark::memory::recompute
