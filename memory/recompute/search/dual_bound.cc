#include "memory/recompute/search/dual_bound.h"

#include <algorithm>
#include <cmath>

namespace tidemark::memory::recompute {

int32_t LinearProgram::add_variable(double cost) {
  costs_.push_back(cost);
  return variables() - 1;
}

void LinearProgram::add_row(const std::vector<Term>& terms, double rhs) {
  terms_.insert(terms_.end(), terms.begin(), terms.end());
  row_starts_.push_back(static_cast<int32_t>(terms_.size()));
  rhs_.push_back(rhs);
}

namespace {

constexpr int kRoundsPerCheck = 40;
// Ends when the bound grows by less than this share over so many checks.
constexpr double kStall = 1e-5;
constexpr int kStalledChecks = 8;
// Of the work of integer_bound(): one node's share is at most one part of so many.
constexpr int64_t kNodes = 100;

// A part of the box, and multipliers that are good for it.
struct Node {
  double bound = 0;
  double weight = 0;
  std::vector<double> low, high;
  std::vector<double> z, w;
};

class PrimalDual {
 public:
  // Starts from what `from` holds.
  PrimalDual(const LinearProgram& program, const Node& from)
      : program_(program),
        low_(from.low),
        high_(from.high),
        z_(from.z),
        w_(from.w),
        gradient_(program.variables(), 0),
        z_step_(program.variables(), 0),
        w_step_(program.rows(), 0),
        z_sum_(program.variables(), 0),
        w_sum_(program.rows(), 0) {
    for (int32_t r = 0; r < program_.rows(); ++r)
      for (int32_t i = program_.row_starts()[r]; i < program_.row_starts()[r + 1]; ++i) {
        const LinearProgram::Term& term = program_.all_terms()[i];
        z_step_[term.variable] += std::abs(term.factor);
        w_step_[r] += std::abs(term.factor);
      }
    for (double& step : z_step_) step = step > 0 ? 1 / step : 1;
    for (double& step : w_step_) step = step > 0 ? 1 / step : 1;
    double scale = 0;
    for (double cost : program_.costs()) scale = std::max(scale, cost);
    weight_ = from.weight > 0 ? from.weight : scale > 0 ? scale : 1;
    find_gradient();
  }

  // The work done is added to `work`.
  double run(int64_t work_limit, double enough, int64_t& total_work) {
    double best = bound_of(w_);
    z_start_ = z_;
    w_start_ = w_;
    int stalled = 0;
    const int64_t per_round = 2 * program_.terms() + program_.variables() + program_.rows();
    int64_t work = 0;
    while (work < work_limit && best < enough) {
      for (int i = 0; i < kRoundsPerCheck; ++i) round();
      work += per_round * kRoundsPerCheck;
      const double last = bound_of(w_);
      std::vector<double> mean(w_sum_);
      for (double& value : mean) value /= rounds_;
      const double averaged = bound_of(mean);
      const double before = best;
      best = std::max({best, last, averaged});
      stalled = best > before + kStall * std::abs(best) ? 0 : stalled + 1;
      if (stalled >= kStalledChecks && best > 0) break;
      if (rounds_ >= next_restart_) restart(averaged > last, mean);
    }
    total_work += work;
    return best;
  }

  // Takes the iterates away.
  void leave(Node& node) {
    node.z = std::move(z_);
    node.w = std::move(w_);
    node.weight = weight_;
  }

 private:
  void find_gradient() {
    gradient_ = program_.costs();
    for (size_t r = 0; r < w_.size(); ++r)
      for (int32_t i = program_.row_starts()[r]; i < program_.row_starts()[r + 1]; ++i)
        gradient_[program_.all_terms()[i].variable] -= program_.all_terms()[i].factor * w_[r];
  }

  // gradient_ is cost - rows^T w throughout.
  void round() {
    std::vector<double>& extrapolated = scratch_;
    extrapolated.resize(z_.size());
    for (size_t j = 0; j < z_.size(); ++j) {
      const double next = std::clamp(z_[j] - z_step_[j] / weight_ * gradient_[j], low_[j], high_[j]);
      extrapolated[j] = 2 * next - z_[j];
      z_[j] = next;
      z_sum_[j] += next;
    }
    for (size_t j = 0; j < z_.size(); ++j) gradient_[j] = program_.costs()[j];
    const LinearProgram::Term* terms = program_.all_terms().data();
    for (size_t r = 0; r < w_.size(); ++r) {
      const int32_t begin = program_.row_starts()[r];
      const int32_t end = program_.row_starts()[r + 1];
      double value = program_.rhs()[r];
      for (int32_t i = begin; i < end; ++i) value -= terms[i].factor * extrapolated[terms[i].variable];
      const double next = std::max(0.0, w_[r] + w_step_[r] * weight_ * value);
      w_[r] = next;
      w_sum_[r] += next;
      if (next == 0) continue;
      for (int32_t i = begin; i < end; ++i) gradient_[terms[i].variable] -= terms[i].factor * next;
    }
    ++rounds_;
  }

  double bound_of(const std::vector<double>& w) {
    std::vector<double> reduced = program_.costs();
    double bound = 0;
    for (size_t r = 0; r < w.size(); ++r) {
      bound += w[r] * program_.rhs()[r];
      for (int32_t i = program_.row_starts()[r]; i < program_.row_starts()[r + 1]; ++i)
        reduced[program_.all_terms()[i].variable] -= program_.all_terms()[i].factor * w[r];
    }
    for (size_t j = 0; j < reduced.size(); ++j) bound += reduced[j] * (reduced[j] < 0 ? high_[j] : low_[j]);
    return bound;
  }

  void restart(bool from_mean, const std::vector<double>& mean) {
    if (from_mean) {
      w_ = mean;
      for (size_t j = 0; j < z_.size(); ++j) z_[j] = z_sum_[j] / rounds_;
      find_gradient();
    }
    balance();
    z_start_ = z_;
    w_start_ = w_;
    std::fill(z_sum_.begin(), z_sum_.end(), 0);
    std::fill(w_sum_.begin(), w_sum_.end(), 0);
    next_restart_ = std::min(2 * next_restart_, 640);
    rounds_ = 0;
  }

  // The weight between the two step sizes follows how far each side moved.
  void balance() {
    double z_moved = 0;
    double w_moved = 0;
    for (size_t j = 0; j < z_.size(); ++j) z_moved += (z_[j] - z_start_[j]) * (z_[j] - z_start_[j]);
    for (size_t r = 0; r < w_.size(); ++r) w_moved += (w_[r] - w_start_[r]) * (w_[r] - w_start_[r]);
    if (z_moved <= 0 || w_moved <= 0) return;
    weight_ = std::exp(0.5 * std::log(std::sqrt(w_moved / z_moved)) + 0.5 * std::log(weight_));
  }

  const LinearProgram& program_;
  const std::vector<double>& low_;
  const std::vector<double>& high_;
  std::vector<double> z_, w_;
  std::vector<double> gradient_;
  std::vector<double> z_step_, w_step_;
  std::vector<double> z_sum_, w_sum_;
  std::vector<double> z_start_, w_start_;
  std::vector<double> scratch_;
  double weight_ = 1;
  int rounds_ = 0;
  int next_restart_ = 40;
};

Node whole_box(const LinearProgram& program) {
  Node node;
  node.low.assign(program.variables(), 0);
  node.high.assign(program.variables(), 1);
  node.z.assign(program.variables(), 0);
  node.w.assign(program.rows(), 0);
  return node;
}

// The free variable that is farthest from a whole number, weighted by its cost; where all are near one, the dearest
// that is used. -1: none of either kind.
int32_t most_undecided(const LinearProgram& program, const Node& node) {
  int32_t chosen = -1;
  int32_t dearest = -1;
  double most = 0;
  for (int32_t j = 0; j < program.variables(); ++j) {
    if (node.low[j] == node.high[j]) continue;
    if (node.z[j] > 0.5 && (dearest < 0 || program.costs()[j] > program.costs()[dearest])) dearest = j;
    const double distance = std::min(node.z[j], 1 - node.z[j]);
    const double score = distance * (program.costs()[j] + 1e-3);
    if (distance < 0.01 || score <= most) continue;
    chosen = j;
    most = score;
  }
  return chosen >= 0 ? chosen : dearest;
}

}  // namespace

double dual_bound(const LinearProgram& program, int64_t work_limit, double enough) {
  int64_t work = 0;
  return PrimalDual(program, whole_box(program)).run(work_limit, enough, work);
}

double integer_bound(const LinearProgram& program, int64_t work_limit, double enough) {
  int64_t work = 0;
  const auto solve = [&](Node& node, int64_t limit) {
    PrimalDual method(program, node);
    node.bound = std::max(node.bound, method.run(limit, enough, work));
    method.leave(node);
  };
  std::vector<Node> open = {whole_box(program)};
  solve(open.front(), work_limit / 2);
  const auto later = [](const Node& a, const Node& b) { return a.bound > b.bound; };
  while (!open.empty() && work < work_limit) {
    std::pop_heap(open.begin(), open.end(), later);
    Node node = std::move(open.back());
    open.pop_back();
    const int32_t variable = node.bound < enough ? most_undecided(program, node) : -1;
    if (variable < 0) return std::min(node.bound, enough);
    for (double value : {0.0, 1.0}) {
      Node child = node;
      child.low[variable] = child.high[variable] = value;
      solve(child, work_limit / kNodes);
      if (child.bound >= enough) continue;
      open.push_back(std::move(child));
      std::push_heap(open.begin(), open.end(), later);
    }
  }
  return open.empty() ? enough : open.front().bound;
}

}  // namespace tidemark::memory::recompute
