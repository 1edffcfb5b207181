#include "memory/arena/component_solver.h"

#include <algorithm>

#include "memory/arena/greedy_placement.h"
#include "memory/arena/hot_core.h"

namespace tidemark::memory {
namespace {

// Above this the search on the core alone is several times faster than on everything.
constexpr size_t kLargeComponent = 600;
// Above this the tables of the exact search no longer fit the caches, and its first dive alone costs a second.
constexpr size_t kLargestExact = 3000;
constexpr int64_t kFirstSlice = 100'000;
constexpr int64_t kSliceGrowth = 4;
constexpr int64_t kDescentShare = 8;
constexpr int64_t kFirstDivisor = 4;
// The overlap search needs much work to be better than the exact one, which solves most instances before this slice.
constexpr int64_t kOverlapsFrom = 6'400'000;
constexpr int64_t kOverlapSlices = 16;
// Of the way from the lower bound to the best plan: where the overlap search aims.
constexpr int64_t kOverlapAim = 8;

}  // namespace

ComponentSolver::ComponentSolver(const SectionedTrace& trace, const OffsetPlannerOptions& options)
    : trace_(trace), options_(options), components_(split_in_time(trace)), offsets_(trace.buffers.size(), -1) {
  lower_bound_bytes_ = trace.lower_bound_bytes;
}

int64_t ComponentSolver::peak_bytes() const {
  int64_t peak = 0;
  for (const Component& component : components_) peak = std::max(peak, component.peak_bytes);
  return peak;
}

void ComponentSolver::keep(Component& component, const std::vector<int64_t>& offsets, const std::string& name) {
  int64_t peak = 0;
  for (int32_t i : component.buffers) peak = std::max(peak, offsets[i] + trace_.buffers[i].bytes);
  if (component.peak_bytes != 0 && peak >= component.peak_bytes) return;
  for (int32_t i : component.buffers) offsets_[i] = offsets[i];
  component.peak_bytes = peak;
  found_by_ = name;
}

void ComponentSolver::greedy_pass(GreedyOrder order, FitRule rule, const std::string& name) {
  GreedyPlacement placement(trace_);
  placement.place_all(greedy_order(trace_, order), rule);
  for (Component& component : components_) keep(component, placement.offsets(), name);
  work_ += kGreedyWork * static_cast<int64_t>(trace_.buffers.size());
}

bool ComponentSolver::is_large(const Component& component) const { return component.buffers.size() > kLargeComponent; }

std::vector<Component*> ComponentSolver::hardest_first() {
  std::vector<Component*> order;
  for (Component& component : components_) order.push_back(&component);
  std::stable_sort(order.begin(), order.end(),
                   [](const Component* a, const Component* b) { return a->lower_bound_bytes > b->lower_bound_bytes; });
  return order;
}

void ComponentSolver::try_lower_bound() {
  for (Component* component : hardest_first()) {
    if (component->peak_bytes <= lower_bound_bytes_ || work_left() <= 0) continue;
    if (is_large(*component)) {
      improve_around_core(*component, lower_bound_bytes_, work_left() / 2);
    } else {
      ExactPacker packer(trace_, component->buffers, lower_bound_bytes_);
      attempt(*component, packer, lower_bound_bytes_, std::min(kFirstSlice, work_left()));
    }
    lower_bound_bytes_ = std::max(lower_bound_bytes_, component->lower_bound_bytes);
  }
}

void ComponentSolver::minimize() {
  for (Component* component : hardest_first()) {
    if (component->peak_bytes <= lower_bound_bytes_ || component->buffers.size() > kLargestExact) continue;
    improve_exactly(*component);
    lower_bound_bytes_ = std::max(lower_bound_bytes_, component->lower_bound_bytes);
  }
}

bool ComponentSolver::fit_into(int64_t capacity_bytes) {
  for (Component& component : components_) {
    if (component.peak_bytes <= capacity_bytes) continue;
    if (is_large(component)) improve_around_core(component, capacity_bytes, work_left() / 2);
    if (component.peak_bytes <= capacity_bytes || component.buffers.size() > kLargestExact) continue;
    ExactPacker packer(trace_, component.buffers, capacity_bytes);
    if (attempt(component, packer, capacity_bytes, work_left()) == SearchVerdict::impossible) {
      lower_bound_bytes_ = std::max(lower_bound_bytes_, component.lower_bound_bytes);
      return false;
    }
  }
  return true;
}

// Alternates between the lower bound, where most real traces have a plan, and a descent, with growing shares of work.
void ComponentSolver::improve_exactly(Component& component) {
  ExactPacker packer(trace_, component.buffers, component.peak_bytes);
  for (int64_t slice = kFirstSlice; work_left() > 0; slice *= kSliceGrowth) {
    const int64_t target = least_target(component);
    if (component.peak_bytes <= target) return;
    if (attempt(component, packer, target, slice) == SearchVerdict::found) return;
    descend(component, packer, slice);
    if (slice >= kOverlapsFrom) improve_by_overlaps(component, packer, kOverlapSlices * slice);
  }
}

void ComponentSolver::improve_by_overlaps(Component& component, const ExactPacker& packer, int64_t work_limit) {
  const int64_t low = least_target(component);
  if (component.peak_bytes <= low || work_left() <= 0) return;
  const int64_t aim = low + (component.peak_bytes - low) / kOverlapAim;
  const auto result = packer.pack_by_overlaps(aim, options_.seed + attempts_++, std::min(work_limit, work_left()));
  work_ += result.work;
  if (!result.offsets.empty()) take(component, packer, result.offsets, "overlaps");
}

void ComponentSolver::take(Component& component, const ExactPacker& packer, const std::vector<int64_t>& packed,
                           const char* name) {
  std::vector<int64_t> offsets = offsets_;
  for (size_t i = 0; i < packed.size(); ++i) offsets[packer.buffers()[i]] = packed[i];
  const int64_t before = component.peak_bytes;
  keep(component, offsets, name);
  component.is_from_search |= component.peak_bytes < before;
}

int64_t ComponentSolver::least_target(const Component& component) const {
  return std::max({lower_bound_bytes_, component.lower_bound_bytes, component.exhausted_below_bytes});
}

// Downwards in steps that shrink whenever one fails, with about as much work as one slice; each packing guides the
// search for the next.
void ComponentSolver::descend(Component& component, ExactPacker& packer, int64_t slice) {
  int64_t divisor = kFirstDivisor;
  const int64_t end = work_ + std::min(slice, work_left());
  while (work_ < end) {
    const int64_t low = least_target(component);
    if (low >= component.peak_bytes) return;
    const int64_t step = (component.peak_bytes - low) / divisor;
    const int64_t capacity = component.peak_bytes - 1 - std::min(step, component.peak_bytes - 1 - low);
    if (attempt(component, packer, capacity, slice / kDescentShare) == SearchVerdict::found) continue;
    if (packer.next_capacity(capacity) >= component.peak_bytes) return;
    divisor *= 2;
  }
}

SearchVerdict ComponentSolver::attempt(Component& component, ExactPacker& packer, int64_t capacity_bytes,
                                       int64_t work_limit) {
  // Greedy offsets advise badly: their mistakes are what the search has to undo.
  const std::vector<int64_t> no_guide;
  const auto result = packer.pack(capacity_bytes, component.is_from_search ? offsets_ : no_guide,
                                  options_.seed + attempts_++, std::min(work_limit, work_left()));
  work_ += result.work + static_cast<int64_t>(packer.buffers().size());  // the search's tables are filled each time
  if (result.verdict == SearchVerdict::found) {
    take(component, packer, result.offsets, "exact");
  }
  if (result.exhausted) {
    component.exhausted_below_bytes = std::max(component.exhausted_below_bytes, packer.next_capacity(capacity_bytes));
  }
  if (result.verdict == SearchVerdict::impossible) {
    component.lower_bound_bytes = std::max(component.lower_bound_bytes, packer.next_capacity(capacity_bytes));
  }
  return result.verdict;
}

void ComponentSolver::improve_around_core(Component& component, int64_t target_bytes, int64_t work_limit) {
  const CorePlan plan = plan_around_core(trace_, component, target_bytes, options_.seed, work_limit);
  work_ += plan.work;
  if (!plan.offsets.empty()) keep(component, plan.offsets, "core");
}

}  // namespace tidemark::memory
