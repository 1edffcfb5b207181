#include "memory/recompute/bound/rounding_cuts.h"

#include <algorithm>
#include <cmath>

namespace tidemark::memory::recompute {
namespace {

constexpr double kFraction = 1e-6;
constexpr double kLeastDepth = 1e-3;
// Remainders nearer to a whole number than this are where rounding errors would decide.
constexpr double kLeastRemainder = 0.01;
constexpr size_t kMostDivisors = 12;

// One row as sum of factor * z <= rhs.
class Rounder {
 public:
  Rounder(const LinearProgram& program, int32_t row, const std::vector<double>& solution) : solution_(solution) {
    for (int32_t i = program.row_starts()[row]; i < program.row_starts()[row + 1]; ++i) {
      const LinearProgram::Term& term = program.all_terms()[i];
      terms_.push_back({term.variable, -term.factor});
      complemented_.push_back(solution[term.variable] > 0.5 ? 1 : 0);
    }
    rhs_ = -program.rhs()[row];
  }

  Cut deepest() {
    Cut best;
    double best_divisor = 0;
    const auto attempt = [&](double divisor) {
      Cut cut = round(divisor);
      if (cut.depth <= best.depth) return false;
      best = std::move(cut);
      best_divisor = divisor;
      return true;
    };
    for (double divisor : divisors()) attempt(divisor);
    if (best.depth < kLeastDepth) return {};
    const double whole = best_divisor;
    for (double part : {2.0, 4.0, 8.0}) attempt(whole / part);
    for (size_t i = 0; i < terms_.size(); ++i) {
      if (whole_number(solution_[terms_[i].variable])) continue;
      complemented_[i] ^= 1;
      if (!attempt(best_divisor)) complemented_[i] ^= 1;
    }
    return best;
  }

 private:
  static bool whole_number(double value) { return value < kFraction || value > 1 - kFraction; }

  std::vector<double> divisors() const {
    std::vector<double> divisors;
    for (const LinearProgram::Term& term : terms_)
      if (!whole_number(solution_[term.variable])) divisors.push_back(std::abs(term.factor));
    std::sort(divisors.begin(), divisors.end(), std::greater<>());
    divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
    if (divisors.size() > kMostDivisors) divisors.resize(kMostDivisors);
    return divisors;
  }

  Cut round(double divisor) const {
    double rhs = rhs_;
    for (size_t i = 0; i < terms_.size(); ++i)
      if (complemented_[i] != 0) rhs -= terms_[i].factor;
    const double whole = std::floor(rhs / divisor);
    const double remainder = rhs / divisor - whole;
    Cut cut;
    if (remainder < kLeastRemainder || remainder > 1 - kLeastRemainder) return cut;
    cut.rhs = -whole;
    double activity = 0;
    double length = 0;
    for (size_t i = 0; i < terms_.size(); ++i) {
      const double share = (complemented_[i] != 0 ? -terms_[i].factor : terms_[i].factor) / divisor;
      const double part = share - std::floor(share);
      double factor = std::floor(share) + std::max(0.0, part - remainder) / (1 - remainder);
      if (factor == 0) continue;
      if (complemented_[i] != 0) {
        cut.rhs += factor;
        factor = -factor;
      }
      cut.terms.push_back({terms_[i].variable, -factor});
      activity -= factor * solution_[terms_[i].variable];
      length += factor * factor;
    }
    cut.rhs -= 1e-9 * (1 + std::abs(cut.rhs));
    cut.depth = length > 0 ? (cut.rhs - activity) / std::sqrt(length) : 0;
    return cut;
  }

  const std::vector<double>& solution_;
  std::vector<LinearProgram::Term> terms_;
  std::vector<uint8_t> complemented_;
  double rhs_ = 0;
};

bool has_unequal_factors(const LinearProgram& program, int32_t row) {
  for (int32_t i = program.row_starts()[row]; i < program.row_starts()[row + 1]; ++i)
    if (std::abs(program.all_terms()[i].factor) != std::abs(program.all_terms()[program.row_starts()[row]].factor))
      return true;
  return false;
}

}  // namespace

std::vector<Cut> rounding_cuts(const LinearProgram& program, int32_t rows, const std::vector<double>& solution) {
  std::vector<Cut> cuts;
  for (int32_t r = 0; r < rows; ++r) {
    if (!has_unequal_factors(program, r)) continue;
    Cut cut = Rounder(program, r, solution).deepest();
    if (cut.depth >= kLeastDepth) cuts.push_back(std::move(cut));
  }
  std::stable_sort(cuts.begin(), cuts.end(), [](const Cut& a, const Cut& b) { return a.depth > b.depth; });
  return cuts;
}

}  // namespace tidemark::memory::recompute
