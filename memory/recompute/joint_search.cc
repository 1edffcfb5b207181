#include "memory/recompute/joint_search.h"

#include <algorithm>
#include <cmath>

#include "memory/recompute/search/fullness.h"

namespace tidemark::memory {
namespace {

using recompute::LeastOverlap;
using recompute::PlacedCopy;
using recompute::Problem;
using recompute::Run;

constexpr int32_t kFirstWeight = 1;
constexpr int32_t kWeightStep = 300;  // of the pair with the largest overlap; the others in proportion
constexpr int32_t kLargestWeight = 1 << 19;

constexpr int kChanges = 30;  // of runs, at every local minimum
constexpr double kFullShare = 0.9;
constexpr double kTemperature = 0.1;  // of what gets fuller, in units of one full stage

// Shares of the changes; what is left over makes values again anywhere.
constexpr double kForOverlaps = 0.5;
constexpr double kShifts = 0.3;
constexpr double kDrops = 0.1;
constexpr double kExchanges = 0.6;  // of the changes that add runs: another run goes for it
// For an overlap.
constexpr double kMadeBehind = 0.7;
constexpr double kUnmade = 0.3;
constexpr double kToFirstReader = 0.5;
constexpr int32_t kFar = 30;  // stages

constexpr int kCheaperTries = 200;

}  // namespace

bool JointSearch::can_take(const Problem& problem, double bytes, int64_t unit_bytes) {
  const auto unit = static_cast<double>(unit_bytes);
  const double units = std::floor(bytes / unit);
  const auto fits = [&](double size) { return std::ceil(size / unit) <= units; };
  return problem.value_count() > 0 && problem.value_count() + problem.step_count <= kMostOwners && units >= 1 &&
         units <= kMostUnits && std::ranges::all_of(problem.bytes, fits) &&
         std::ranges::all_of(problem.workspace_bytes, fits);
}

JointSearch::JointSearch(const Problem& problem, double budget_bytes, const std::vector<Run>& start,
                         const JointSearchOptions& options)
    : problem_(problem),
      options_(options),
      capacity_(static_cast<int32_t>(
          std::floor((budget_bytes - problem.fixed_bytes) / static_cast<double>(options.unit_bytes)))),
      owners_(static_cast<size_t>(problem.value_count() + problem.step_count)),
      random_(options.seed),
      state_(problem, budget_bytes),
      moves_(problem, state_, random_),
      placed_(state_, static_cast<double>(options.unit_bytes)),
      places_(capacity_),
      weights_(owners_ * owners_, kFirstWeight) {
  moves_.start(start);
  placed_.derive_all();
  fullness_ = recompute::fullness(state_, kFullShare);
  for (size_t i = 0; i < placed_.copies().size(); ++i) {
    const auto copy = static_cast<int32_t>(i);
    const int32_t places = std::max(capacity_ - placed_.copies()[i].size, 0) + 1;
    placed_.place(copy, static_cast<int32_t>(random_.below(places)));
    push(copy);
  }
}

void JointSearch::push(int32_t copy) {
  if (is_queued_.size() < placed_.copies().size()) is_queued_.resize(placed_.copies().size(), 0);
  if (is_queued_[copy]) return;
  is_queued_[copy] = 1;
  queue_.push_back(copy);
}

// Those that have a place.
void JointSearch::gather(const PlacedCopy& copy) {
  neighbours_.clear();
  const std::vector<PlacedCopy>& all = placed_.copies();
  for (size_t i = 0; i < all.size(); ++i) {
    const PlacedCopy& other = all[i];
    if (!copy.meets(other) || &other == &copy || other.offset == PlacedCopy::kNowhere) continue;
    neighbours_.push_back(static_cast<int32_t>(i));
  }
}

int64_t JointSearch::cost_here(int32_t index) {
  const PlacedCopy& copy = placed_.copies()[index];
  gather(copy);
  int64_t cost = 0;
  for (int32_t n : neighbours_) {
    const PlacedCopy& other = placed_.copies()[n];
    const int32_t units = copy.overlap(other);
    if (units > 0) cost += static_cast<int64_t>(weight(copy.owner, other.owner)) * units;
  }
  return cost;
}

// Of the neighbours gathered last.
LeastOverlap::Best JointSearch::best_offset(int32_t index) {
  const PlacedCopy& copy = placed_.copies()[index];
  places_.begin(copy.size);
  for (int32_t n : neighbours_) {
    const PlacedCopy& other = placed_.copies()[n];
    places_.add_neighbour(other.offset, other.size, weight(copy.owner, other.owner));
  }
  ++looks_;
  return places_.best([this](int64_t n) { return random_.below(n); });
}

void JointSearch::improve(int32_t index) {
  const PlacedCopy copy = placed_.copies()[index];
  if (!copy.exists()) return;
  const int64_t cost = cost_here(index);
  if (cost == 0) return;
  const LeastOverlap::Best best = best_offset(index);
  if (best.cost >= cost) return;
  placed_.place(index, best.offset);
  const PlacedCopy& moved = placed_.copies()[index];
  for (int32_t n : neighbours_)
    if (moved.overlap(placed_.copies()[n]) > 0) push(n);
  if (best.cost > 0) push(index);
}

// Until no single copy can do better, or the work ends.
void JointSearch::settle(int64_t end) {
  size_t next = 0;
  for (; next < queue_.size() && looks_ < end; ++next) {
    is_queued_[queue_[next]] = 0;
    improve(queue_[next]);
  }
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(next));
}

void JointSearch::add_overlap(int32_t a, int32_t b, std::vector<Overlap>& out) const {
  const PlacedCopy &x = placed_.copies()[a], &y = placed_.copies()[b];
  if (!x.meets(y)) return;
  const int32_t units = x.overlap(y);
  if (units > 0) out.push_back({a, b, units});
}

void JointSearch::find_overlaps(std::vector<Overlap>& out) const {
  out.clear();
  const auto count = static_cast<int32_t>(placed_.copies().size());
  for (int32_t i = 0; i < count; ++i)
    for (int32_t k = 0; k < i; ++k) add_overlap(i, k, out);
}

// Those of before, where neither copy has changed or is gone, and those of the changed ones.
void JointSearch::find_overlaps_after(const std::vector<int32_t>& changed) {
  const auto count = static_cast<int32_t>(placed_.copies().size());
  is_changed_.assign(placed_.copies().size(), 0);
  for (int32_t index : changed) is_changed_[index] = 1;
  overlaps_after_.clear();
  for (const Overlap& o : overlaps_) {
    const bool is_there = placed_.copies()[o.first].exists() && placed_.copies()[o.second].exists();
    if (is_there && !is_changed_[o.first] && !is_changed_[o.second]) overlaps_after_.push_back(o);
  }
  for (int32_t index : changed)
    for (int32_t other = 0; other < count; ++other)
      if (other < index || (other > index && !is_changed_[other])) add_overlap(index, other, overlaps_after_);
}

int64_t JointSearch::weight_of(const std::vector<Overlap>& overlaps) const {
  int64_t sum = 0;
  for (const Overlap& o : overlaps)
    sum += static_cast<int64_t>(weight(placed_.copies()[o.first].owner, placed_.copies()[o.second].owner)) * o.units;
  return sum;
}

// Makes the local minimum dearer than its surroundings.
void JointSearch::raise_weights() {
  int32_t most = 1, heaviest = 0;
  for (const Overlap& o : overlaps_) most = std::max(most, o.units);
  for (const Overlap& o : overlaps_) {
    const int32_t a = placed_.copies()[o.first].owner, b = placed_.copies()[o.second].owner;
    weight(a, b) += static_cast<int32_t>((static_cast<int64_t>(kWeightStep) * o.units + most - 1) / most);
    weight(b, a) = weight(a, b);
    heaviest = std::max(heaviest, weight(a, b));
    push(o.first);
    push(o.second);
  }
  if (heaviest >= kLargestWeight) {
    for (int32_t& w : weights_) w = (w + 1) / 2;
  }
}

// Makes one of an overlapping pair again behind the overlap, or changes the run that made it.
void JointSearch::propose_for_overlap() {
  const Overlap& pair = overlaps_[static_cast<size_t>(random_.below(static_cast<int64_t>(overlaps_.size())))];
  const PlacedCopy &a = placed_.copies()[pair.first], &b = placed_.copies()[pair.second];
  const PlacedCopy& copy = random_.unit() < 0.5 ? a : b;
  if (copy.owner >= problem_.value_count()) return moves_.shift_any();
  const int32_t first = std::max(a.begin, b.begin) / problem_.step_count;
  const int32_t last = std::min(a.end, b.end) / problem_.step_count;
  const auto stage = static_cast<int32_t>(first + random_.below(last - first + 1));
  if (random_.unit() < kMadeBehind && moves_.make_idle_again(copy.owner, stage)) return;
  const int32_t maker = problem_.maker[copy.owner];
  if (copy.made == maker) return;
  const Run run{copy.made, maker};
  if (random_.unit() < kUnmade) return state_.flip(run);
  const auto by = static_cast<int32_t>(1 + random_.below(kFar));
  const int32_t reader = state_.next_read(copy.owner, copy.made - 1);
  const bool goes_to_reader = random_.unit() < kToFirstReader && reader > copy.made;
  moves_.move(run, goes_to_reader ? reader : random_.unit() < 0.5 ? copy.made - by : copy.made + by);
}

void JointSearch::propose() {
  const double kind = random_.unit();
  if (kind < kForOverlaps && !overlaps_.empty()) {
    propose_for_overlap();
  } else if (kind < kForOverlaps + kShifts) {
    return moves_.shift_any();
  } else if (kind < kForOverlaps + kShifts + kDrops) {
    return moves_.drop_any();
  } else {
    const auto value = static_cast<int32_t>(random_.below(problem_.value_count()));
    moves_.make_idle_again(value, static_cast<int32_t>(1 + random_.below(problem_.step_count - 1)));
  }
  if (!state_.journal().empty() && random_.unit() < kExchanges) moves_.drop_any();
}

bool JointSearch::is_allowed() {
  if (!state_.fits() || state_.extra_cost() > options_.extra_cost_limit) return false;
  const double fuller = recompute::fullness(state_, kFullShare) - fullness_;
  return fuller <= 0 || random_.unit() < std::exp(-fuller / kTemperature);
}

void JointSearch::place_changed(const std::vector<int32_t>& changed) {
  for (int32_t index : changed) {
    if (placed_.copies()[index].offset != PlacedCopy::kNowhere) continue;
    gather(placed_.copies()[index]);
    placed_.place(index, best_offset(index).offset);
  }
  for (int32_t index : changed) {
    const int64_t cost = cost_here(index);
    if (cost == 0) continue;
    const LeastOverlap::Best best = best_offset(index);
    if (best.cost < cost) placed_.place(index, best.offset);
  }
}

// The copies of what the journal changed, in their best places; returns them. The overlaps are then in overlaps_after_.
const std::vector<int32_t>& JointSearch::follow_journal() {
  const std::vector<int32_t>& changed = placed_.follow(state_.journal());
  place_changed(changed);
  find_overlaps_after(changed);
  return changed;
}

void JointSearch::change_runs() {
  propose();
  if (state_.journal().empty()) return;
  state_.settle();
  if (!is_allowed()) {
    state_.undo_to(0);
    return;
  }
  const int64_t before = weight_of(overlaps_);
  const std::vector<int32_t>& changed = follow_journal();
  if (weight_of(overlaps_after_) > before) {
    placed_.undo();
    state_.undo_to(0);
    return;
  }
  keep_change(changed);
}

// With its overlaps, found last.
void JointSearch::keep_change(const std::vector<int32_t>& changed) {
  for (int32_t index : changed) push(index);
  placed_.accept();
  moves_.accept();
  overlaps_.swap(overlaps_after_);
  fullness_ = recompute::fullness(state_, kFullShare);
}

// One change, of some, that weighs least for what it saves.
bool JointSearch::make_cheaper() {
  const double cost = state_.extra_cost();
  const int64_t before = weight_of(overlaps_);
  std::vector<Run> best;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kCheaperTries; ++i) {
    random_.unit() < 0.5 ? moves_.drop_any() : propose();
    if (state_.journal().empty()) continue;
    state_.settle();
    const double saved = cost - state_.extra_cost();
    if (state_.fits() && saved > 0) {
      follow_journal();
      const double heavier = static_cast<double>(weight_of(overlaps_after_) - before) / saved;
      if (heavier < least) {
        least = heavier;
        best = state_.journal();
      }
      placed_.undo();
    }
    state_.undo_to(0);
  }
  if (best.empty()) return false;
  for (const Run& run : best) state_.flip(run);
  state_.settle();
  keep_change(follow_journal());
  return true;
}

bool JointSearch::lower_cost_limit(double extra_cost) {
  options_.extra_cost_limit = extra_cost;
  least_overlap_ = std::numeric_limits<int64_t>::max();
  while (state_.extra_cost() > extra_cost)
    if (!make_cheaper()) return false;
  return true;
}

bool JointSearch::advance(int64_t looks) {
  const int64_t end = looks_ + looks;
  while (looks_ < end) {
    settle(end);
    find_overlaps(overlaps_);
    int64_t sum = 0;
    for (const Overlap& o : overlaps_) sum += o.units;
    least_overlap_ = std::min(least_overlap_, sum);
    if (sum == 0) return true;
    raise_weights();
    for (int i = 0; i < kChanges; ++i) change_runs();
    ++looks_;
  }
  return false;
}

}  // namespace tidemark::memory
