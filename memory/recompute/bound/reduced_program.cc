#include "memory/recompute/bound/reduced_program.h"

#include <algorithm>

namespace tidemark::memory::recompute {
namespace {

class Reducer {
 public:
  Reducer(const LinearProgram& program, const Box& box) : program_(program), box_(box) {}

  ReducedProgram run() {
    number_.assign(program_.variables(), -1);
    for (int32_t j = 0; j < program_.variables(); ++j) {
      if (box_.variables[j] == Fixing::one) reduced_.fixed_cost += program_.costs()[j];
      if (box_.variables[j] != Fixing::free) continue;
      number_[j] = reduced_.linear.add_variable(program_.costs()[j]);
      reduced_.variable_of.push_back(j);
    }
    const std::vector<int32_t>& counts = program_.count_rows();
    for (int32_t r = 0; r < program_.rows(); ++r) {
      if (std::binary_search(counts.begin(), counts.end(), r)) {
        add_count_row(r);
      } else {
        add_row(r);
      }
    }
    return std::move(reduced_);
  }

 private:
  void add_row(int32_t r) {
    std::vector<LinearProgram::Term> terms;
    double rhs = program_.rhs()[r];
    double least = 0;
    for (int32_t i = program_.row_starts()[r]; i < program_.row_starts()[r + 1]; ++i) {
      const LinearProgram::Term& term = program_.all_terms()[i];
      if (box_.variables[term.variable] == Fixing::one) rhs -= term.factor;
      if (box_.variables[term.variable] != Fixing::free) continue;
      terms.push_back({number_[term.variable], term.factor});
      least += std::min(0.0, term.factor);
    }
    if (least < rhs) reduced_.linear.add_row(terms, rhs);
  }

  void add_count_row(int32_t r) {
    std::vector<int32_t> counted;
    for (int32_t i = program_.row_starts()[r]; i < program_.row_starts()[r + 1]; ++i) {
      const int32_t number = number_[program_.all_terms()[i].variable];
      if (number >= 0) counted.push_back(number);
    }
    if (counted.size() > 1) reduced_.linear.add_count_row(counted);
  }

  const LinearProgram& program_;
  const Box& box_;
  ReducedProgram reduced_;
  std::vector<int32_t> number_;
};

}  // namespace

std::vector<double> ReducedProgram::whole_solution(const std::vector<double>& solution, const Box& box) const {
  std::vector<double> whole;
  for (Fixing fixing : box.variables) whole.push_back(fixing == Fixing::one ? 1 : 0);
  for (size_t j = 0; j < solution.size(); ++j) whole[variable_of[j]] = solution[j];
  return whole;
}

ReducedProgram reduced_program(const LinearProgram& program, const Box& box) { return Reducer(program, box).run(); }

}  // namespace tidemark::memory::recompute
