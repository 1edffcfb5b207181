#include "memory/recompute/bound/branching.h"

#include <algorithm>
#include <cmath>

namespace tidemark::memory::recompute {
namespace {

constexpr double kWhole = 1e-6;
constexpr double kLeastGain = 1e-6;
constexpr double kLeastInfluence = 0.01;
// Layers that repeat make many solutions equally good: one variable of theirs says little, their count says much.
constexpr double kCountInfluence = 3;

}  // namespace

double BranchItem::distance(int side) const {
  const double below = value - std::floor(value);
  return side == 0 ? below : 1 - below;
}

Branching::Branching(const LinearProgram& program) : variables_(program.variables()) {
  for (int32_t row : program.count_rows()) {
    counted_.emplace_back();
    for (int32_t i = program.row_starts()[row]; i < program.row_starts()[row + 1]; ++i)
      counted_.back().push_back(program.all_terms()[i].variable);
  }
  experience_.resize(variables_ + counted_.size());
  influence_.assign(experience_.size(), 1);
}

void Branching::weigh(const LinearProgram& program, const std::vector<double>& multipliers) {
  std::vector<double> prices(program.costs());
  for (int32_t r = 0; r < program.rows(); ++r)
    for (int32_t i = program.row_starts()[r]; i < program.row_starts()[r + 1]; ++i)
      prices[program.all_terms()[i].variable] += std::abs(multipliers[r] * program.all_terms()[i].factor);
  double sum = 1e-9;
  for (double price : prices) sum += price;
  for (int32_t j = 0; j < variables_; ++j) influence_[j] = kLeastInfluence + prices[j] * variables_ / sum;
  for (size_t c = 0; c < counted_.size(); ++c) {
    double largest = 0;
    for (int32_t j : counted_[c]) largest = std::max(largest, influence_[j]);
    influence_[variables_ + c] = kCountInfluence * largest;
  }
}

double Branching::value_of(size_t index, const std::vector<double>& solution) const {
  if (index < static_cast<size_t>(variables_)) return solution[index];
  double sum = 0;
  for (int32_t j : counted_[index - variables_]) sum += solution[j];
  return sum;
}

std::vector<BranchItem> Branching::items(const Box& box, const std::vector<double>& solution) const {
  const double mean[2] = {mean_gain(0), mean_gain(1)};
  std::vector<BranchItem> items;
  for (size_t i = 0; i < experience_.size(); ++i) {
    if (i < box.variables.size() && box.variables[i] != Fixing::free) continue;
    BranchItem item{static_cast<int32_t>(i), value_of(i, solution), 0};
    if (item.distance(0) < kWhole || item.distance(1) < kWhole) continue;
    const Experience& e = experience_[i];
    double gain[2];
    for (int side : {0, 1})
      gain[side] =
          (e.count[side] > 0 ? e.gain[side] / e.count[side] : mean[side] * influence_[i]) * item.distance(side);
    item.score = score(gain[0], gain[1]);
    items.push_back(item);
  }
  std::stable_sort(items.begin(), items.end(),
                   [](const BranchItem& a, const BranchItem& b) { return a.score > b.score; });
  return items;
}

Box Branching::narrowed(const Box& box, const BranchItem& item, int side) const {
  Box part = box;
  if (item.index < variables_) {
    part.variables[item.index] = side == 0 ? Fixing::zero : Fixing::one;
  } else {
    Box::Range& range = part.counts[item.index - variables_];
    (side == 0 ? range.high : range.low) = static_cast<int32_t>(std::floor(item.value)) + side;
  }
  return part;
}

void Branching::learn(const BranchItem& item, int side, double gain) {
  Experience& e = experience_[item.index];
  e.gain[side] += gain / item.distance(side);
  ++e.count[side];
}

bool Branching::knows(const BranchItem& item) const {
  const Experience& e = experience_[item.index];
  return e.count[0] > 0 && e.count[1] > 0;
}

double Branching::score(double gain_below, double gain_above) {
  return std::max(gain_below, kLeastGain) * std::max(gain_above, kLeastGain);
}

double Branching::mean_gain(int side) const {
  double sum = 0;
  int count = 0;
  for (const Experience& e : experience_) {
    if (e.count[side] == 0) continue;
    sum += e.gain[side] / e.count[side];
    ++count;
  }
  return count > 0 ? sum / count : 1;
}

}  // namespace tidemark::memory::recompute
