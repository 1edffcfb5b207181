#include "memory/budget/trend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace tidemark::memory {
namespace {

// Least squares of y on 1 and x; gives the sum of squares that is left.
template <class Abscissa>
double fit_misfit(std::span<const double> y, Abscissa x) {
  const auto n = static_cast<double>(y.size());
  double mean_x = 0, mean_y = 0;
  for (size_t i = 0; i < y.size(); ++i) mean_x += x(i) / n, mean_y += y[i] / n;
  double xx = 0, xy = 0, yy = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const double dx = x(i) - mean_x, dy = y[i] - mean_y;
    xx += dx * dx, xy += dx * dy, yy += dy * dy;
  }
  return xx > 0 ? std::max(0.0, yy - xy * xy / xx) : yy;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

double theil_sen_slope(std::span<const double> series) {
  std::vector<double> slopes;
  slopes.reserve(series.size() * series.size() / 2);
  for (size_t i = 0; i < series.size(); ++i)
    for (size_t j = i + 1; j < series.size(); ++j)
      slopes.push_back((series[j] - series[i]) / static_cast<double>(j - i));
  return median(std::move(slopes));
}

double mann_kendall_chance(std::span<const double> series) {
  const auto n = static_cast<double>(series.size());
  double rising = 0;
  std::map<double, double> ties;
  for (size_t i = 0; i < series.size(); ++i) {
    ++ties[series[i]];
    for (size_t j = i + 1; j < series.size(); ++j) rising += series[j] > series[i] ? 1 : series[j] < series[i] ? -1 : 0;
  }
  double variance = n * (n - 1) * (2 * n + 5);
  for (const auto& [value, t] : ties) variance -= t * (t - 1) * (2 * t + 5);
  if (rising <= 0 || variance <= 0) return 1;
  return std::erfc((rising - 1) / std::sqrt(variance / 18) / std::sqrt(2.0)) / 2;
}

double distance_from_line(std::span<const double> series) {
  const double slope = theil_sen_slope(series);
  std::vector<double> rest(series.begin(), series.end());
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= slope * static_cast<double>(i);
  const double level = median(rest);
  double sum = 0;
  for (double r : rest) sum += (r - level) * (r - level);
  return std::sqrt(sum / static_cast<double>(std::max<size_t>(1, rest.size())));
}

EndSlopes parabola_end_slopes(std::span<const double> series) {
  // In x from -1 to 1 the parabola is orthogonal to the line: b from the line, c on its own.
  const auto n = static_cast<double>(series.size());
  if (n < 3) return {};
  const auto x_of = [&](size_t i) { return 2 * static_cast<double>(i) / (n - 1) - 1; };
  double mean = 0, squares = 0, fourth_powers = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    const double x = x_of(i);
    mean += series[i] / n, squares += x * x, fourth_powers += x * x * x * x;
  }
  double b = 0, c = 0;
  for (size_t i = 0; i < series.size(); ++i) {
    const double x = x_of(i), q = x * x - squares / n;
    b += x * (series[i] - mean) / squares;
    c += q * (series[i] - mean) / (fourth_powers - squares * squares / n);
  }
  const double per_place = 2 / (n - 1);
  return {(b - 2 * c) * per_place, (b + 2 * c) * per_place};
}

double line_misfit(std::span<const double> series) {
  return fit_misfit(series, [](size_t i) { return static_cast<double>(i); });
}

double ramp_misfit(std::span<const double> series, size_t until) {
  return fit_misfit(series, [until](size_t i) { return static_cast<double>(std::min(i, until)); });
}

}  // namespace tidemark::memory
