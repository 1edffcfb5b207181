#include "memory/recompute/bound/branch_and_bound.h"

#include <algorithm>
#include <utility>

#include "memory/recompute/bound/branching.h"
#include "memory/recompute/bound/node_solver.h"
#include "memory/recompute/bound/reduced_program.h"
#include "memory/recompute/bound/rounding_cuts.h"

namespace tidemark::memory::recompute {
namespace {

using Verdict = NodeSolver::Verdict;

constexpr int kCutRounds = 20;
constexpr size_t kCutsPerRound = 30;
constexpr double kCutGrowth = 1e-3;  // of the bound, for another round
// Begins anew where no more than this share of the variables is free.
constexpr double kReduceBelow = 0.9;
constexpr int kMostRoundings = 40;
constexpr double kNearlyWhole = 0.02;
// Items tried at a node, and so many without a better one.
constexpr int kMostTries = 12;
constexpr int kVainTries = 6;
constexpr int64_t kTryWork = 160;  // per row: about 20 pivots
// How much worse than the node it began at a dive may get, of what is left to `enough`.
constexpr double kDiveShare = 0.25;
constexpr int64_t kNodeShare = 20;  // one node has one part of the work in so many
constexpr int kMostResolves = 5;
constexpr double kNear = 1e-5;

bool later(const Node& a, const Node& b) { return a.bound > b.bound; }

class Search {
 public:
  Search(const LinearProgram& program, const BranchAndBoundOptions& options)
      : options_(options), enough_(options.enough), solver_(program), branching_(program) {
    result_.bound = options.enough;
  }

  IntegerBound run() {
    Node root;
    root.box = whole_box(solver_.program());
    bool open = solve(root, options_.work_limit);
    if (open) result_.solution = solver_.solution();
    open = open && add_cuts(root);
    result_.root_work = work();
    if (open) {
      branching_.weigh(solver_.program(), solver_.multipliers());
      find_a_solution(root);
      solver_.stand_at(root);
      open = solve(root, options_.work_limit);
    }
    if (open && worth_reducing(root.box)) return solve_reduced(root);
    if (open) push(std::move(root));
    while (!open_.empty() && work() < options_.work_limit) dive(pop());
    result_.bound = std::min(result_.bound, enough_);
    for (const Node& node : open_) result_.bound = std::min(result_.bound, node.bound);
    result_.solved = open_.empty() && !gave_up_;
    result_.work = work();
    return std::move(result_);
  }

 private:
  int64_t work() const { return solver_.work(); }

  void push(Node node) {
    open_.push_back(std::move(node));
    std::push_heap(open_.begin(), open_.end(), later);
  }

  Node pop() {
    std::pop_heap(open_.begin(), open_.end(), later);
    Node node = std::move(open_.back());
    open_.pop_back();
    return node;
  }

  // True while the node is of interest. A solution in whole numbers ends that.
  bool solve(Node& node, int64_t work_limit) {
    const Verdict verdict = solver_.solve(node, enough_, work_limit);
    if (verdict == Verdict::whole) take_solution();
    // As near as the simplex method's own costs are to the true ones: not worth another node.
    const bool done = verdict == Verdict::whole || node.bound >= enough_ - kNear * (1 + enough_);
    if (verdict != Verdict::closed && done) result_.bound = std::min(result_.bound, node.bound);
    return verdict == Verdict::open && !done;
  }

  void take_solution() {
    enough_ = std::min(enough_, solver_.cost_of_solution() * (1 - options_.gap));
    result_.solution = solver_.solution();
    result_.is_whole = true;
  }

  static bool worth_reducing(const Box& box) {
    const auto free = std::count(box.variables.begin(), box.variables.end(), Fixing::free);
    return free > 0 && static_cast<double>(free) < kReduceBelow * static_cast<double>(box.variables.size());
  }

  // The rest of the search, on a smaller program.
  IntegerBound solve_reduced(const Node& root) {
    const ReducedProgram reduced = reduced_program(solver_.program(), root.box);
    const IntegerBound rest =
        branch_and_bound(reduced.linear, {options_.work_limit - work(), enough_ - reduced.fixed_cost, options_.gap});
    result_.bound = std::min({result_.bound, enough_, std::max(root.bound, rest.bound + reduced.fixed_cost)});
    result_.solved = rest.solved;
    if (rest.is_whole || (!result_.is_whole && !rest.solution.empty())) {
      result_.solution = reduced.whole_solution(rest.solution, root.box);
      result_.is_whole = rest.is_whole;
    }
    result_.work = work() + rest.work;
    return std::move(result_);
  }

  bool add_cuts(Node& root) {
    const int32_t given_rows = solver_.program().rows();
    for (int round = 0; round < kCutRounds && work() < options_.work_limit / 3; ++round) {
      std::vector<Cut> cuts = rounding_cuts(solver_.program(), given_rows, solver_.solution());
      if (cuts.empty()) return true;
      if (cuts.size() > kCutsPerRound) cuts.resize(kCutsPerRound);
      solver_.add_rows(cuts, root);
      const double before = root.bound;
      if (!solve(root, options_.work_limit - work())) return false;
      if (root.bound < before + kCutGrowth * before) return true;
    }
    return true;
  }

  // A first solution lets costs fix variables. Rounds what is nearly whole, and at least one variable, until all are;
  // where that leads nowhere, that one variable the other way, alone.
  void find_a_solution(const Node& root) {
    Node node = root;
    for (int i = 0; i < kMostRoundings && work() < options_.work_limit; ++i) {
      Node rounded = node;
      const int32_t nearest = round_some(rounded.box);
      const bool up = nearest >= 0 && rounded.box.variables[nearest] == Fixing::one;
      solver_.save();
      Verdict verdict = solver_.solve(rounded, enough_, options_.work_limit / kNodeShare);
      if (verdict == Verdict::closed && nearest >= 0) {
        rounded = node;
        rounded.box.variables[nearest] = up ? Fixing::zero : Fixing::one;
        solver_.restore();
        verdict = solver_.solve(rounded, enough_, options_.work_limit / kNodeShare);
      }
      if (verdict == Verdict::whole) take_solution();
      if (verdict != Verdict::open) return;
      node = std::move(rounded);
    }
  }

  // The variable that was not nearly whole, -1: none.
  int32_t round_some(Box& box) const {
    const std::vector<double>& z = solver_.solution();
    const auto distance = [&](int32_t j) { return std::min(z[j], 1 - z[j]); };
    int32_t nearest = -1;
    for (int32_t j = 0; j < static_cast<int32_t>(z.size()); ++j) {
      if (box.variables[j] != Fixing::free) continue;
      if (distance(j) < kNearlyWhole) {
        box.variables[j] = z[j] > 0.5 ? Fixing::one : Fixing::zero;
      } else if (nearest < 0 || distance(j) < distance(nearest)) {
        nearest = j;
      }
    }
    if (nearest >= 0) box.variables[nearest] = z[nearest] > 0.5 ? Fixing::one : Fixing::zero;
    return nearest;
  }

  // Down the better branches, while they are not much worse than the best node: solutions in whole numbers are found
  // deep down, and end the search where many nodes are equally good.
  void dive(Node node) {
    const double limit = node.bound + kDiveShare * (enough_ - node.bound);
    while (node.bound < enough_) {
      std::vector<Node> children = branch(std::move(node));
      if (children.size() == 2) {
        const int worse = children[0].bound > children[1].bound ? 0 : 1;
        push(std::move(children[worse]));
        children.erase(children.begin() + worse);
      }
      if (children.empty()) return;
      if (children[0].bound > limit || work() >= options_.work_limit) return push(std::move(children[0]));
      node = std::move(children[0]);
    }
  }

  // The children that are of interest.
  std::vector<Node> branch(Node node) {
    std::vector<Node> children;
    solver_.stand_at(node);
    // A node does not keep its solution. What is fixed by its cost may not be so in the solution yet.
    BranchItem chosen;
    for (int i = 0; i < kMostResolves && chosen.index < 0; ++i) {
      if (!solve(node, options_.work_limit)) return children;
      chosen = choose(node);
    }
    if (chosen.index < 0) {
      result_.bound = std::min(result_.bound, node.bound);
      gave_up_ = true;
      return children;
    }
    for (int side : {0, 1}) {
      Node child{node.bound, branching_.narrowed(node.box, chosen, side), {}};
      solver_.restore();
      const bool open = solve(child, options_.work_limit / kNodeShare);
      branching_.learn(chosen, side, (open ? std::min(child.bound, enough_) : enough_) - node.bound);
      if (open) children.push_back(std::move(child));
    }
    return children;
  }

  // Items of which nothing is known are tried. Index -1: nothing is fractional.
  BranchItem choose(const Node& node) {
    solver_.save();
    BranchItem chosen{-1, 0, -1};
    int tries = 0;
    int vain = 0;
    for (BranchItem item : branching_.items(node.box, solver_.solution())) {
      if (!branching_.knows(item)) {
        if (tries++ >= kMostTries || vain >= kVainTries) continue;
        double gain[2];
        for (int side : {0, 1}) {
          gain[side] = try_side(node, item, side);
          branching_.learn(item, side, gain[side]);
        }
        if (node.bound + std::max(gain[0], gain[1]) >= enough_) return item;
        item.score = Branching::score(gain[0], gain[1]);
      }
      ++vain;
      if (item.score <= chosen.score) continue;
      chosen = item;
      vain = 0;
    }
    return chosen;
  }

  double try_side(const Node& node, const BranchItem& item, int side) {
    const Box box = branching_.narrowed(node.box, item, side);
    const double cost = solver_.guess_cost(box, enough_, kTryWork * solver_.program().rows());
    return std::max(0.0, cost - node.bound);
  }

  const BranchAndBoundOptions options_;
  double enough_;
  NodeSolver solver_;
  Branching branching_;
  IntegerBound result_;
  std::vector<Node> open_;  // heap, least bound first
  bool gave_up_ = false;
};

}  // namespace

IntegerBound branch_and_bound(const LinearProgram& program, const BranchAndBoundOptions& options) {
  return Search(program, options).run();
}

}  // namespace tidemark::memory::recompute
