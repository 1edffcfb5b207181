// Does one memory series grow, or is it a cache at work? See Note [Straight growth].
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace tidemark::memory {

enum class TrendKind {
  straight,      // rises evenly to the end: growth
  flat,          // does not rise enough to count
  given_back,    // what rose has fallen again
  noisy,         // a few jumps, or too uneven to tell from noise
  recent,        // rises since so short a time that it can still be a cache that fills
  stopped,       // rose and has come to rest
  slowing,       // rises more and more slowly
  too_few_steps  // to say anything
};

// "rises evenly to the end", for people.
std::string_view describe(TrendKind kind);

struct SeriesTrend {
  TrendKind kind = TrendKind::flat;
  double bytes_per_step = 0;  // of the floor, over the window that decided
  int64_t first_step = 0;     // place in the series from which the straight rise goes back from the end
  double confidence = 0;      // 1 - chance of such a rise without a trend (Mann-Kendall); 0 unless straight
  // A straight rise from here on would have been found in this series.
  double detectable_bytes_per_step = 0;
};

// `series`: one value a step, at step boundaries. A rise below `least_rise_bytes` in all does not count.
SeriesTrend find_trend(std::span<const double> series, double least_rise_bytes);

}  // namespace tidemark::memory
