#include "memory/recompute/search/placed_copies.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "memory/recompute/random_step_trace.h"
#include "memory/recompute/schedule.h"
#include "memory/recompute/search/random.h"

namespace tidemark::memory::recompute {
namespace {

constexpr double kUnitBytes = 7;

StepTrace trace_of(uint64_t seed) {
  RandomStepTraceOptions kind{seed, 24};
  kind.workspace_percent = 20;
  kind.second_output_percent = 20;
  kind.takes_over_percent = 40;
  kind.overwrites_percent = seed % 3 == 0 ? 15 : 0;
  kind.persistent_percent = 10;
  kind.external_percent = 20;
  kind.result_percent = 15;
  return random_step_trace(kind);
}

using Range = std::array<int32_t, 3>;  // begin and end time, size

// When each run of the sequence takes place.
std::vector<int32_t> times_of(const Problem& problem, const std::vector<int32_t>& steps) {
  std::vector<int32_t> stages(steps.size(), problem.step_count - 1), times;
  int32_t next = 0;
  for (size_t i = 0, waiting = 0; i < steps.size(); ++i) {
    if (steps[i] != next) continue;
    for (; waiting <= i; ++waiting) stages[waiting] = next + problem.first_step;
    ++next;
  }
  for (size_t i = 0; i < steps.size(); ++i)
    times.push_back(stages[i] * problem.step_count + steps[i] + problem.first_step);
  return times;
}

// From the schedule of the same plan: what shares a place as one range.
std::vector<Range> ranges_of_schedule(const StepTrace& trace, const Problem& problem, const PlanState& state) {
  const Schedule schedule = make_schedule(trace, state.sequence());
  const std::vector<int32_t> times = times_of(problem, schedule.steps);
  const int32_t end_time = (problem.step_count - 1) * problem.step_count + problem.step_count - 1;
  struct Place {
    int32_t begin, end;
    int64_t bytes;
  };
  std::vector<Place> places;
  std::vector<size_t> place_of(schedule.instances.size());
  for (size_t i = 0; i < place_of.size(); ++i) {
    const ValueInstance& instance = schedule.instances[i];
    const int64_t bytes = trace.values[instance.value].bytes;
    bool made = false;
    for (const Step& step : trace.steps)
      made |= std::find(step.outputs.begin(), step.outputs.end(), instance.value) != step.outputs.end();
    const int32_t begin = made ? times[instance.begin] : 0;
    const int32_t end = instance.end == static_cast<int64_t>(times.size()) && trace.values[instance.value].live_at_end
                            ? end_time
                            : times[std::max<int64_t>(instance.end - 1, 0)];
    if (instance.takes_over >= 0 && trace.values[schedule.instances[instance.takes_over].value].bytes > 0) {
      place_of[i] = place_of[instance.takes_over];
      places[place_of[i]].end = end;
      places[place_of[i]].bytes = std::max(places[place_of[i]].bytes, bytes);
      continue;
    }
    place_of[i] = places.size();
    places.push_back({begin, instance.end <= instance.begin ? -1 : end, bytes});
  }
  std::vector<Range> ranges;
  for (const Place& place : places)
    if (place.bytes > 0 && place.end >= place.begin)
      ranges.push_back({place.begin, place.end, static_cast<int32_t>(std::ceil(place.bytes / kUnitBytes))});
  for (size_t i = 0; i < times.size(); ++i) {
    const int64_t bytes = trace.steps[schedule.steps[i]].workspace_bytes;
    if (bytes > 0) ranges.push_back({times[i], times[i], static_cast<int32_t>(std::ceil(bytes / kUnitBytes))});
  }
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

// What nobody reads of what is there before the first step is left out, as in a schedule.
std::vector<Range> ranges_of(const PlacedCopies& placed) {
  std::vector<Range> ranges;
  for (const PlacedCopy& copy : placed.copies())
    if (copy.exists() && copy.end > 0) ranges.push_back({copy.begin, copy.end, copy.size});
  std::sort(ranges.begin(), ranges.end());
  return ranges;
}

// A change of a run that is allowed; false if the draw was none.
bool flip_any(const Problem& problem, PlanState& state, Random& random) {
  const auto stage = static_cast<int32_t>(1 + random.below(problem.step_count - 1));
  const auto step = static_cast<int32_t>(random.below(stage));
  if (!problem.may_repeat(step, stage)) return false;
  state.flip({stage, step});
  return true;
}

TEST(PlacedCopies, AreThoseOfTheScheduleAfterEveryFlip) {
  int compared = 0, taken_over = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const StepTrace trace = trace_of(seed);
    const Problem problem(trace);
    PlanState state(problem, 1e9);
    PlacedCopies placed(state, kUnitBytes);
    placed.derive_all();
    ASSERT_EQ(ranges_of(placed), ranges_of_schedule(trace, problem, state)) << "seed " << seed;
    Random random(seed);
    for (int i = 0; i < 60; ++i) {
      state.forget_journal();
      for (int k = 0; k < 3; ++k) flip_any(problem, state, random);
      state.settle();
      placed.follow(state.journal());
      placed.accept();
      ASSERT_EQ(ranges_of(placed), ranges_of_schedule(trace, problem, state)) << "seed " << seed << " flip " << i;
      ++compared;
    }
    for (const ValueInstance& instance : make_schedule(trace, state.sequence()).instances)
      taken_over += instance.takes_over >= 0 ? 1 : 0;
  }
  EXPECT_EQ(compared, 30 * 60);
  EXPECT_GT(taken_over, 30);
}

std::vector<PlacedCopy> existing(const PlacedCopies& placed) {
  std::vector<PlacedCopy> copies;
  for (const PlacedCopy& copy : placed.copies())
    if (copy.exists()) copies.push_back(copy);
  const auto key = [](const PlacedCopy& c) { return std::array{c.owner, c.made}; };
  std::ranges::sort(copies, {}, key);
  return copies;
}

bool same(const PlacedCopy& a, const PlacedCopy& b) {
  return a.owner == b.owner && a.made == b.made && a.begin == b.begin && a.end == b.end && a.size == b.size &&
         a.offset == b.offset;
}

TEST(PlacedCopies, UndoneFlipsLeaveEveryPlaceAsItWas) {
  int changes = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const StepTrace trace = trace_of(seed);
    const Problem problem(trace);
    PlanState state(problem, 1e9);
    PlacedCopies placed(state, kUnitBytes);
    placed.derive_all();
    for (size_t i = 0; i < placed.copies().size(); ++i)
      placed.place(static_cast<int32_t>(i), static_cast<int32_t>(100 + i));
    Random random(seed);
    for (int i = 0; i < 40; ++i) {
      const std::vector<PlacedCopy> before = existing(placed);
      state.forget_journal();
      for (int k = 0; k < 2; ++k) flip_any(problem, state, random);
      state.settle();
      for (int32_t changed : placed.follow(state.journal())) {
        placed.place(changed, 7);
        ++changes;
      }
      if (i % 4 == 0) {  // now and then it stays
        placed.accept();
        continue;
      }
      placed.undo();
      state.undo_to(0);
      const std::vector<PlacedCopy> after = existing(placed);
      ASSERT_TRUE(std::ranges::equal(before, after, same)) << "seed " << seed << " flip " << i;
    }
  }
  EXPECT_GT(changes, 500);
}

TEST(PlacedCopies, WhatKeepsItsRangeKeepsItsPlace) {
  const StepTrace trace = trace_of(2);
  const Problem problem(trace);
  PlanState state(problem, 1e9);
  PlacedCopies placed(state, kUnitBytes);
  placed.derive_all();
  for (size_t i = 0; i < placed.copies().size(); ++i) placed.place(static_cast<int32_t>(i), 50);
  Random random(3);
  while (!flip_any(problem, state, random)) continue;
  state.settle();
  const std::vector<int32_t> changed = placed.follow(state.journal());
  EXPECT_LT(changed.size(), placed.copies().size() / 2);
  for (size_t i = 0; i < placed.copies().size(); ++i) {
    const bool kept = std::ranges::find(changed, static_cast<int32_t>(i)) == changed.end();
    if (placed.copies()[i].exists() && kept) {
      EXPECT_EQ(placed.copies()[i].offset, 50) << i;
    }
  }
}

}  // namespace
}  // namespace tidemark::memory::recompute
