// Robust statistics of a short series: which way it goes, how straight, and whether it bends.
#pragma once

#include <span>
#include <vector>

namespace tidemark::memory {

double median(std::vector<double> values);  // 0 for no values

// Median of the slopes of all pairs, per place in the series (Theil 1950, Sen 1968): up to 29 % of the values may be
// wild. O(n²): for short series.
double theil_sen_slope(std::span<const double> series);

// Chance of so many rising pairs in a series without a trend, one-sided, by the normal approximation (Mann 1945,
// Kendall 1975). Small: it rises.
double mann_kendall_chance(std::span<const double> series);

// Root mean square distance from the Theil-Sen line through the medians.
double distance_from_line(std::span<const double> series);

// Least-squares parabola: its slopes at the two ends.
struct EndSlopes {
  double first = 0;
  double last = 0;
};
EndSlopes parabola_end_slopes(std::span<const double> series);

// Sum of squares that is left by the best line, and by the best line that goes flat after place `until`.
double line_misfit(std::span<const double> series);
double ramp_misfit(std::span<const double> series, size_t until);

}  // namespace tidemark::memory
