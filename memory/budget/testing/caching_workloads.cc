#include "memory/budget/testing/caching_workloads.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <set>

namespace tidemark::memory {
namespace {

constexpr double kKiB = 1024, kMiB = 1024 * 1024;

using Series = std::vector<double>;
using Generate = std::function<Series(Random&, int64_t)>;

// One value a step from a function of the step.
Generate by_step(std::function<double(double t, double steps)> value) {
  return [value](Random&, int64_t steps) {
    Series out;
    for (int64_t t = 0; t < steps; ++t) out.push_back(value(static_cast<double>(t), static_cast<double>(steps)));
    return out;
  };
}

// As by_step, with draws, and state that starts afresh for every run.
using Step = std::function<double(Random&, double t)>;
Generate with_state(std::function<Step(Random&)> make) {
  return [make](Random& random, int64_t steps) {
    const Step step = make(random);
    Series out;
    for (int64_t t = 0; t < steps; ++t) out.push_back(step(random, static_cast<double>(t)));
    return out;
  };
}

Generate sum_of(Generate a, Generate b) {
  return [a, b](Random& random, int64_t steps) {
    Series out = a(random, steps);
    const Series more = b(random, steps);
    for (size_t i = 0; i < out.size(); ++i) out[i] += more[i];
    return out;
  };
}

Generate noise(double amplitude) {
  return with_state(
      [=](Random&) { return [=](Random& random, double) { return uniform(random, -amplitude, amplitude); }; });
}

Generate sawtooth(double period, double height) {
  return by_step([=](double t, double) { return 20 * kMiB + height * std::fmod(t, period) / period; });
}

// Fills by an even amount a step until it is full.
Generate ramp(double until, double per_step) {
  return by_step([=](double t, double) { return 5 * kMiB + per_step * std::min(t, until); });
}

Generate exponential(double steps, double height) {
  return by_step([=](double t, double) { return height * (1 - std::exp(-t / steps)); });
}

Generate logarithm(double height, double bound) {
  return by_step([=](double t, double) { return std::min(bound, height * std::log(1 + t)); });
}

// Every `every` steps something large lives across one boundary; what the first one made stays.
Generate event(double every, double height, double stays) {
  return by_step([=](double t, double) {
    const bool now = t > 0 && std::fmod(t, every) == 0;
    return 10 * kMiB + (t >= every ? stays : 0) + (now ? height : 0);
  });
}

// Every epoch takes a bigger batch and keeps its buffers: no more than four epochs a run.
Generate bigger_epochs(int epochs) {
  return [=](Random& random, int64_t steps) {
    Series heights, out;
    for (int e = 0; e < epochs; ++e) heights.push_back((e > 0 ? heights.back() : 0) + uniform(random, 1, 9) * kMiB);
    for (int64_t t = 0; t < steps; ++t) out.push_back(heights[static_cast<size_t>(t * epochs / steps)]);
    return out;
  };
}

// One entry for each new shape; shape k comes with weight 1 / (k + 1)^skew.
Generate shape_cache(int shapes, double skew, double entry_bytes) {
  return with_state([=](Random&) -> Step {
    std::vector<double> weights;
    for (int k = 0; k < shapes; ++k) weights.push_back(std::pow(k + 1, -skew));
    return [seen = std::set<int>(), held = 0.0, pick = std::discrete_distribution<int>(weights.begin(), weights.end()),
            entry_bytes](Random& random, double) mutable {
      if (seen.insert(pick(random)).second) held += entry_bytes * uniform(random, 0.5, 1.5);
      return held;
    };
  });
}

// A buffer as large as the largest request so far.
Generate high_water(std::function<double(Random&)> request) {
  return with_state([=](Random&) -> Step {
    return [=, top = 0.0](Random& random, double) mutable { return top = std::max(top, request(random)); };
  });
}

// Fills to its capacity, then drops old entries for new ones of other sizes.
Generate lru_cache(double capacity, double entry_bytes) {
  return with_state([=](Random&) -> Step {
    return [=, entries = std::vector<double>(), held = 0.0](Random& random, double) mutable {
      entries.push_back(entry_bytes * uniform(random, 0.2, 1.8));
      held += entries.back();
      while (held > capacity) {
        held -= entries.front();
        entries.erase(entries.begin());
      }
      return held;
    };
  });
}

// Key/value caches of `count` sessions that grow by the token and end at random.
Generate sessions(int count, double mean_tokens, double token_bytes) {
  return with_state([=](Random&) -> Step {
    return [=, tokens = std::vector<double>(static_cast<size_t>(count))](Random& random, double) mutable {
      double held = 0;
      for (double& length : tokens) {
        length = uniform(random, 0, 1) < 1 / mean_tokens ? 0 : length + 1;
        held += length * token_bytes;
      }
      return held;
    };
  });
}

// Wanders, but is drawn back to its mean: what the C library and the system keep.
Generate wandering(double amplitude, double memory_steps) {
  return with_state([=](Random&) -> Step {
    return [=, at = 0.0](Random& random, double) mutable {
      const double keep = std::exp(-1 / memory_steps);
      at = keep * at + std::sqrt(1 - keep * keep) * amplitude * uniform(random, -1.7, 1.7);
      return 300 * kMiB + at;
    };
  });
}

// Collects garbage whenever it has taken `threshold`, at a pace that changes.
Generate collected(double threshold) {
  return with_state([=](Random&) -> Step {
    return [=, held = 0.0](Random& random, double) mutable {
      held += uniform(random, 0, threshold / 20);
      if (held > threshold) held = 0;
      return 30 * kMiB + held;
    };
  });
}

Generate two_warm_ups() {
  return by_step([](double t, double) { return kMiB * (std::min(t, 40.0) + (t > 90 ? std::min(t - 90, 30.0) : 0)); });
}

Generate square_wave(double period, double height) {
  return by_step([=](double t, double) { return 8 * kMiB + (std::fmod(t, period) < period / 2 ? 0 : height); });
}

Generate dropped_workspace() {
  return by_step([](double t, double) { return t < 5 ? 500 * kMiB : 40 * kMiB; });
}

// A table that doubles when it is full.
Generate doubling(double entry_bytes) {
  return by_step([=](double t, double) { return entry_bytes * std::exp2(std::ceil(std::log2(t + 1))); });
}

Generate page_ramp(double until) {
  return by_step([=](double t, double) { return 2 * kMiB * std::floor(std::min(t, until) / 12); });
}

Generate queue() {
  return with_state([](Random&) -> Step {
    return [](Random& random, double) { return 2 * kMiB * std::floor(uniform(random, 0, 5)); };
  });
}

double token_length(Random& random) { return 16 * kKiB * std::floor(uniform(random, 1, 129)); }
double rare_length(Random& random) { return 64 * kKiB * std::exp(1.2 * uniform(random, -2, 2)); }
double bucketed_length(Random& random) { return 64 * kKiB * std::exp2(std::floor(uniform(random, 0, 8))); }

void add_periodic(std::vector<CachingWorkload>& all) {
  for (double period : {2, 5, 20, 37, 50, 90, 100})
    all.push_back({fmt::format("sawtooth of {} steps", period), sawtooth(period, 30 * kMiB), period > 40});
  for (double period : {10, 40, 100})
    all.push_back({fmt::format("square wave of {} steps", period), square_wave(period, 25 * kMiB), period > 40});
  for (double every : {10, 50}) {
    all.push_back({fmt::format("evaluation every {} steps", every), event(every, 64 * kMiB, 0)});
    all.push_back(
        {fmt::format("evaluation every {} steps that leaves a buffer", every), event(every, 4 * kMiB, 3 * kMiB)});
  }
  all.push_back({"checkpoint every 25 steps", event(25, 12 * kMiB, 64 * kKiB)});
  all.push_back(
      {"waves of 60 steps", by_step([](double t, double) { return kMiB * (20 + 9 * std::sin(t / 9.55)); }), true});
}

void add_filling(std::vector<CachingWorkload>& all) {
  for (double until : {20, 60, 100, 150, 180})
    all.push_back({fmt::format("cache full after {} steps", until), ramp(until, 100 * kKiB), until > 90});
  all.push_back({"large cache full after 150 steps", ramp(150, 3 * kMiB), true});
  for (double steps : {5, 20, 40, 60})
    all.push_back(
        {fmt::format("cache that fills with time constant {}", steps), exponential(steps, 24 * kMiB), steps > 30});
  all.push_back({"pool that grows like the logarithm", logarithm(3 * kMiB, 1e12), true});
  all.push_back({"pool that grows like the logarithm to a bound", logarithm(3 * kMiB, 14 * kMiB), true});
  all.push_back(
      {"pool that grows like the square root", by_step([](double t, double) { return kMiB * std::sqrt(t); }), true});
  all.push_back({"two warm-ups", two_warm_ups(), true});
  all.push_back({"pages until step 120", page_ramp(120), true});
  all.push_back({"a table that doubles", doubling(32 * kKiB), true});
  all.push_back({"workspace dropped after warm-up", dropped_workspace()});
  all.push_back({"every fourth of the run a bigger batch",
                 by_step([](double t, double steps) { return 6 * kMiB * std::floor(4 * t / steps); }), true});
  for (int epochs : {2, 3, 4})
    all.push_back({fmt::format("{} epochs with bigger batches", epochs), bigger_epochs(epochs), true});
}

void add_random(std::vector<CachingWorkload>& all) {
  all.push_back({"nothing", by_step([](double, double) { return 0.0; })});
  all.push_back({"weights", by_step([](double, double) { return 400 * kMiB; })});
  for (double mib : {1, 4, 32})
    all.push_back({fmt::format("lengths at random within {} MiB", mib), noise(mib * kMiB), mib > 1});
  all.push_back({"prefetch queue", queue(), true});
  for (int shapes : {16, 64, 200})
    all.push_back({fmt::format("cache of {} shapes", shapes), shape_cache(shapes, 0, 400 * kKiB), true});
  all.push_back({"cache of 100 shapes, some rare", shape_cache(100, 1, 600 * kKiB), true});
  all.push_back({"cache of 1000 shapes, most rare", shape_cache(1000, 1.6, 600 * kKiB), true});
  all.push_back({"buffer for the longest so far", high_water(token_length)});
  all.push_back({"buffer for the longest so far, rare ones long", high_water(rare_length), true});
  all.push_back({"buffer in powers of two", high_water(bucketed_length)});
  all.push_back({"cache that drops the oldest", lru_cache(20 * kMiB, 400 * kKiB), true});
  all.push_back({"small cache that drops the oldest", lru_cache(4 * kMiB, 200 * kKiB), true});
  all.push_back({"one session after another", sessions(1, 12, 256 * kKiB), true});
  all.push_back({"eight sessions", sessions(8, 25, 64 * kKiB), true});
  all.push_back({"resident memory", noise(kMiB)});
  all.push_back({"resident memory that wanders", wandering(kMiB, 12), true});
  all.push_back({"collected garbage", collected(6 * kMiB), true});
  all.push_back({"warm-up and noise", sum_of(exponential(15, 40 * kMiB), noise(0.5 * kMiB)), true});
  all.push_back({"filling cache, evaluation and noise",
                 sum_of(sum_of(ramp(150, 200 * kKiB), event(40, 30 * kMiB, kMiB)), noise(0.3 * kMiB)), true});
}

}  // namespace

double uniform(Random& random, double low, double high) {
  return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
}

void PrintTo(const CachingWorkload& workload, std::ostream* out) { *out << workload.name; }

std::vector<CachingWorkload> caching_workloads() {
  std::vector<CachingWorkload> all;
  add_periodic(all);
  add_filling(all);
  add_random(all);
  return all;
}

}  // namespace tidemark::memory
