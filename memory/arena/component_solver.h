// Plans one trace part by part, from greedy passes to the exact search; the working state of the portfolio planner.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/arena/component.h"
#include "memory/arena/exact_packer.h"
#include "memory/arena/greedy_planner.h"
#include "memory/arena/offset_planner.h"
#include "memory/arena/sectioned_trace.h"

namespace tidemark::memory {

class ComponentSolver {
 public:
  // `trace` must outlive it.
  ComponentSolver(const SectionedTrace& trace, const OffsetPlannerOptions& options);

  // One greedy pass over everything; each component keeps it if it is better there.
  void greedy_pass(GreedyOrder order, FitRule rule, const std::string& name);

  // Tries the lower bound: small components with little work, large ones (around their hot core) with half of it all.
  void try_lower_bound();

  // Lowers the peak of every component that is above the lower bound and not too large for the exact search, down to
  // the bound if possible; raises the bound by proof.
  void minimize();

  // The same for a fixed target, without anything in between. False if some component is proven not to fit.
  bool fit_into(int64_t capacity_bytes);

  int64_t peak_bytes() const;
  int64_t lower_bound_bytes() const { return lower_bound_bytes_; }
  const std::vector<int64_t>& offsets() const { return offsets_; }
  int64_t work() const { return work_; }
  const std::string& found_by() const { return found_by_; }

 private:
  int64_t work_left() const { return options_.work_limit - work_; }
  std::vector<Component*> hardest_first();
  bool is_large(const Component& component) const;
  int64_t least_target(const Component& component) const;
  void improve_exactly(Component& component);
  void descend(Component& component, ExactPacker& packer, int64_t slice);
  SearchVerdict attempt(Component& component, ExactPacker& packer, int64_t capacity_bytes, int64_t work_limit);
  void improve_by_overlaps(Component& component, const ExactPacker& packer, int64_t work_limit);
  void take(Component& component, const ExactPacker& packer, const std::vector<int64_t>& offsets, const char* name);
  void improve_around_core(Component& component, int64_t target_bytes, int64_t work_limit);
  void keep(Component& component, const std::vector<int64_t>& offsets, const std::string& name);

  const SectionedTrace& trace_;
  const OffsetPlannerOptions options_;
  std::vector<Component> components_;
  int64_t lower_bound_bytes_ = 0;
  std::vector<int64_t> offsets_;
  int64_t work_ = 0;
  uint64_t attempts_ = 0;
  std::string found_by_ = "empty";
};

}  // namespace tidemark::memory
