#include "memory/budget/step_floor.h"

#include <algorithm>
#include <cmath>

#include "memory/budget/trend.h"

namespace tidemark::memory {
namespace {

constexpr size_t kPeriodWindow = 1000;
// How much better a period must tell the next value than the value before does.
constexpr double kPeriodGain = 0.2;

std::vector<double> differences(std::span<const double> series, size_t lag) {
  std::vector<double> out;
  for (size_t i = lag; i < series.size(); ++i) out.push_back(series[i] - series[i - lag]);
  return out;
}

double mean_deviation(const std::vector<double>& values) {
  const double middle = median(values);
  double sum = 0;
  for (double v : values) sum += std::abs(v - middle);
  return sum / static_cast<double>(std::max<size_t>(1, values.size()));
}

}  // namespace

size_t find_period(std::span<const double> series) {
  const auto recent = series.last(std::min(series.size(), kPeriodWindow));
  const double without = mean_deviation(differences(recent, 1));
  for (size_t period = 2; period <= recent.size() / 5; ++period)
    if (mean_deviation(differences(recent, period)) < kPeriodGain * without) return period;
  return 0;
}

std::vector<double> without_season(std::span<const double> series, size_t period) {
  std::vector<double> out(series.begin(), series.end());
  if (period < 2 || series.size() < 2 * period) return out;
  const double slope = median(differences(series, period)) / static_cast<double>(period);
  std::vector<std::vector<double>> phases(period);
  for (size_t i = 0; i < series.size(); ++i) phases[i % period].push_back(series[i] - slope * static_cast<double>(i));
  std::vector<double> profile;
  for (auto& phase : phases) profile.push_back(median(std::move(phase)));
  const double lowest = *std::ranges::min_element(profile);
  for (size_t i = 0; i < out.size(); ++i) out[i] -= profile[i % period] - lowest;
  return out;
}

BlockMinima block_minima(std::span<const double> series, size_t blocks) {
  BlockMinima out;
  out.block_steps = std::max<size_t>(1, (series.size() + blocks - 1) / blocks);
  const size_t count = series.size() / out.block_steps;
  const auto tail = series.last(count * out.block_steps);
  for (size_t b = 0; b < count; ++b)
    out.values.push_back(*std::ranges::min_element(tail.subspan(b * out.block_steps, out.block_steps)));
  return out;
}

}  // namespace tidemark::memory
