#include "memory/recompute/search/placed_copies.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace tidemark::memory::recompute {
namespace {

constexpr PlacedCopy kGone{.begin = std::numeric_limits<int32_t>::max(), .end = std::numeric_limits<int32_t>::min()};

}  // namespace

PlacedCopies::PlacedCopies(const PlanState& state, double unit_bytes)
    : state_(state), problem_(state.problem()), unit_bytes_(unit_bytes), successors_(problem_.value_count()) {
  TM_CHECK(problem_.step_count <= kMostSteps, "times of so many steps do not fit 32 bits");
  for (int32_t v = 0; v < problem_.value_count(); ++v)
    if (problem_.predecessor[v] >= 0) successors_[problem_.predecessor[v]].push_back(v);
  of_owner_.resize(problem_.value_count() + problem_.step_count);
  is_owner_noted_.resize(of_owner_.size(), 0);
}

void PlacedCopies::derive_all() {
  copies_.clear();
  free_.clear();
  for (std::vector<int32_t>& copies : of_owner_) copies.clear();
  for (int32_t owner = 0; owner < owner_count(); ++owner) follow_owner(owner);
  accept();
}

// Of the readers that run in the stage, the last one.
int32_t PlacedCopies::last_reader(int32_t value, int32_t stage) const {
  int32_t last = -1;
  for (int32_t step : problem_.readers[value])
    if (state_.runs_at(step, stage)) last = std::max(last, step);
  return last;
}

// Of the copy made in a stage; a stage before that if nobody reads it.
int32_t PlacedCopies::last_read_stage(int32_t value, int32_t made) const {
  const int32_t next = state_.next_run(problem_.maker[value], made);
  return state_.last_read(value, std::min(next, problem_.step_count) - 1);
}

// The value that takes over the bytes where this reader's run in the stage is the last of a copy; -1: none.
int32_t PlacedCopies::taken_over_by(int32_t value, int32_t stage, int32_t reader) const {
  for (int32_t next : successors_[value])
    if (problem_.maker[next] == reader && state_.runs_at(reader, stage)) return next;
  return -1;
}

bool PlacedCopies::takes_over(int32_t value, int32_t made) const {
  const int32_t before = problem_.predecessor[value];
  if (before < 0 || problem_.bytes[before] <= 0) return false;
  const int32_t made_before = state_.latest_run(problem_.maker[before], made);
  return last_read_stage(before, made_before) == made && last_reader(before, made) == problem_.maker[value];
}

PlacedCopies::End PlacedCopies::end_of(int32_t value, int32_t made) const {
  End end{time(made, problem_.maker[value]), problem_.bytes[value]};
  for (int32_t next = value; next >= 0;) {
    value = next;
    end.bytes = std::max(end.bytes, problem_.bytes[value]);
    const int32_t stage = last_read_stage(value, made);
    if (stage < made) {
      end.time = time(made, problem_.maker[value]);
      break;
    }
    const int32_t reader = last_reader(value, stage);
    end.time = time(stage, reader);
    next = taken_over_by(value, stage, reader);
    made = stage;
  }
  return end;
}

void PlacedCopies::derive(int32_t owner, std::vector<PlacedCopy>& out) const {
  out.clear();
  const bool is_value = owner < problem_.value_count();
  const int32_t step = is_value ? problem_.maker[owner] : owner - problem_.value_count();
  if ((is_value ? problem_.bytes[owner] : problem_.workspace_bytes[step]) <= 0) return;
  for (int32_t made = step; made < problem_.step_count; made = state_.next_run(step, made)) {
    if (is_value && takes_over(owner, made)) continue;
    const End end = is_value ? end_of(owner, made) : End{time(made, step), problem_.workspace_bytes[step]};
    out.push_back({.owner = owner,
                   .made = made,
                   .begin = time(made, step),
                   .end = end.time,
                   .size = static_cast<int32_t>(std::ceil(end.bytes / unit_bytes_)),
                   .offset = PlacedCopy::kNowhere});
  }
}

int32_t PlacedCopies::find(int32_t owner, int32_t made) const {
  for (int32_t copy : of_owner_[owner])
    if (copies_[copy].made == made) return copy;
  return -1;
}

int32_t PlacedCopies::new_copy() {
  if (free_.empty()) {
    copies_.push_back(kGone);
    free_.push_back(static_cast<int32_t>(copies_.size()) - 1);
  }
  const int32_t copy = free_.back();
  free_.pop_back();
  created_.push_back(copy);
  return copy;
}

void PlacedCopies::follow_owner(int32_t owner) {
  derive(owner, derived_);
  owners_before_.push_back({owner, of_owner_[owner]});
  std::vector<int32_t> now;
  for (PlacedCopy& wanted : derived_) {
    const int32_t found = find(owner, wanted.made);
    const int32_t copy = found >= 0 ? found : new_copy();
    now.push_back(copy);
    PlacedCopy& content = copies_[copy];
    if (found >= 0) {
      wanted.offset = content.offset;
      if (content.begin == wanted.begin && content.end == wanted.end && content.size == wanted.size) continue;
      if (content.size != wanted.size) wanted.offset = PlacedCopy::kNowhere;
      copies_before_.push_back({copy, content});
    }
    content = wanted;
    changed_.push_back(copy);
  }
  for (int32_t copy : of_owner_[owner]) {
    if (std::find(now.begin(), now.end(), copy) != now.end()) continue;
    copies_before_.push_back({copy, copies_[copy]});
    copies_[copy] = kGone;
    gone_.push_back(copy);
  }
  of_owner_[owner] = std::move(now);
}

void PlacedCopies::add_owner(int32_t owner) {
  if (is_owner_noted_[owner]) return;
  is_owner_noted_[owner] = 1;
  owners_.push_back(owner);
}

// What the steps make and read, and whatever shares a place with that.
void PlacedCopies::find_owners(const std::vector<Run>& flipped) {
  owners_.clear();
  for (const Run& run : flipped) {
    for (int32_t value : problem_.outputs[run.step]) add_owner(value);
    for (int32_t value : problem_.inputs[run.step]) add_owner(value);
  }
  for (size_t i = 0; i < owners_.size(); ++i) {
    const int32_t value = owners_[i];
    if (problem_.predecessor[value] >= 0) add_owner(problem_.predecessor[value]);
    for (int32_t next : successors_[value]) add_owner(next);
  }
  for (const Run& run : flipped) add_owner(problem_.value_count() + run.step);
  for (int32_t owner : owners_) is_owner_noted_[owner] = 0;
}

const std::vector<int32_t>& PlacedCopies::follow(const std::vector<Run>& flipped) {
  accept();
  find_owners(flipped);
  for (int32_t owner : owners_) follow_owner(owner);
  return changed_;
}

void PlacedCopies::undo() {
  for (OwnerBefore& before : owners_before_) of_owner_[before.owner] = std::move(before.copies);
  for (int32_t copy : created_) {
    copies_[copy] = kGone;
    free_.push_back(copy);
  }
  for (const CopyBefore& before : copies_before_) copies_[before.copy] = before.content;
  gone_.clear();
  accept();
}

void PlacedCopies::accept() {
  free_.insert(free_.end(), gone_.begin(), gone_.end());
  gone_.clear();
  created_.clear();
  changed_.clear();
  owners_before_.clear();
  copies_before_.clear();
}

int32_t PlacedCopies::offset_of(int32_t owner, int32_t made) const {
  if (const int32_t copy = find(owner, made); copy >= 0) return copies_[copy].offset;
  if (owner >= problem_.value_count() || !takes_over(owner, made)) return PlacedCopy::kNowhere;
  const int32_t before = problem_.predecessor[owner];
  return offset_of(before, state_.latest_run(problem_.maker[before], made));
}

}  // namespace tidemark::memory::recompute
