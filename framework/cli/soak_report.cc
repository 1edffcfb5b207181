#include "framework/cli/soak_report.h"

#include <fmt/format.h>

#include <ostream>

#include "base/bytes.h"

namespace tidemark::cli {
namespace {

using nlohmann::ordered_json;

constexpr const char* kLine = "{:>7}  {:>11}  {:>11}  {:>11}  {:>11}  {:>11}  {:>11}  {:>6}\n";

int64_t bytes_of(const SoakSample& sample, Category category) {
  return sample.memory.books.allocated[static_cast<size_t>(category)];
}

ordered_json sample_json(const SoakSample& sample) {
  const memory::MemoryBooks& books = sample.memory.books;
  ordered_json categories = ordered_json::object();
  for (size_t c = 0; c < books.allocated.size(); ++c)
    if (books.allocated[c] != 0) categories[std::string(to_string(static_cast<Category>(c)))] = books.allocated[c];
  return {{"step", sample.step},
          {"allocated_bytes", memory::sum(books.allocated)},
          {"allocated", categories},
          {"reserved_bytes", sample.memory.device.own_bytes},
          {"cached_bytes", books.cached_bytes},
          {"kv_cache_peak_bytes", sample.kv_cache_peak_bytes},
          {"compiled_bodies", sample.compiled_bodies},
          {"device_free_bytes", sample.memory.device.free_bytes},
          {"unattributed_bytes", growth_sample(sample.memory).unattributed_bytes},
          {"host_bytes", sample.memory.host_bytes}};
}

ordered_json trends_json(const memory::GrowthVerdict& verdict) {
  ordered_json trends = ordered_json::array();
  for (const memory::NamedTrend& named : verdict.trends)
    trends.push_back(
        {{"name", named.name}, {"what", describe(named.trend.kind)}, {"bytes_per_step", named.trend.bytes_per_step}});
  return trends;
}

}  // namespace

void print_soak_header(std::ostream& out) {
  out << fmt::format(fmt::runtime(kLine), "step", "allocated", "reserved", "kv cache", "weights", "device free", "host",
                     "bodies");
}

void print_soak_line(const SoakSample& sample, std::ostream& out) {
  const int64_t kv_cache = std::max(sample.kv_cache_peak_bytes, bytes_of(sample, Category::kv_cache));
  out << fmt::format(fmt::runtime(kLine), sample.step, format_bytes(memory::sum(sample.memory.books.allocated)),
                     format_bytes(sample.memory.device.own_bytes), format_bytes(kv_cache),
                     format_bytes(bytes_of(sample, Category::weights)), format_bytes(sample.memory.device.free_bytes),
                     format_bytes(sample.memory.host_bytes), sample.compiled_bodies);
}

ordered_json soak_json(const Soaked& soaked) {
  ordered_json samples = ordered_json::array();
  for (const SoakSample& sample : soaked.samples) samples.push_back(sample_json(sample));
  const memory::GrowthVerdict& verdict = soaked.verdict;
  return {{"model", soaked.model},
          {"device", soaked.device},
          {"what", soaked.what},
          {"budget_bytes", soaked.budget_bytes},
          {"steps", verdict.steps},
          {"verdict", verdict.growing ? "growing" : "stable"},
          {"bytes_per_step", verdict.bytes_per_step},
          {"category", verdict.growing ? ordered_json(verdict.category) : ordered_json(nullptr)},
          {"first_step", verdict.growing ? ordered_json(verdict.first_step) : ordered_json(nullptr)},
          {"confidence", verdict.confidence},
          {"detectable_bytes_per_step", verdict.detectable_bytes_per_step},
          {"detectable_host_bytes_per_step", verdict.detectable_host_bytes_per_step},
          {"trends", trends_json(verdict)},
          {"samples", samples}};
}

}  // namespace tidemark::cli
