#include "framework/cli/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/bytes.h"
#include "framework/cli/plan_report.h"

namespace tidemark::cli {
namespace {

using nlohmann::ordered_json;

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<int64_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double total(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v;
  return sum;
}

double rate(int64_t count, const train::RunReport& report) {
  const double seconds = total(report.step_seconds);
  return seconds > 0 ? static_cast<double>(count) / seconds : 0;
}

ordered_json eval_json(const train::RunReport& report) {
  if (!report.eval) return nullptr;
  ordered_json eval{{"loss", report.eval->loss}, {"samples", report.eval->samples}};
  if (report.eval->accuracy) eval["accuracy"] = *report.eval->accuracy;
  return eval;
}

}  // namespace

ordered_json train_json(const train::PlannedRun& run, const train::RunReport& report,
                        const std::string& parameters_sha256) {
  const auto& seconds = report.step_seconds;
  const int64_t tokens = run.targets_per_sample > 1 ? report.targets : 0;
  return {{"model", run.program->name},
          {"first_step", report.first_step},
          {"steps", report.steps},
          {"losses", report.losses},
          {"eval", eval_json(report)},
          {"planned_peak_bytes", run.planned_peak_bytes},
          {"measured_peak_bytes", report.measured_peak_bytes},
          {"budget_bytes", run.budget_bytes},
          {"recomputed_instructions", recomputed_instructions(run)},
          {"recompute_overhead", run.recompute_overhead},
          {"recompute_overhead_lower_bound", run.recompute_overhead_lower_bound},
          {"categories", categories_json(run.program->peak_categories)},
          {"step_seconds",
           {{"median", median(seconds)}, {"min", seconds.empty() ? 0 : *std::ranges::min_element(seconds)}}},
          {"samples_per_second", rate(report.samples, report)},
          {"tokens_per_second", rate(tokens, report)},
          {"device_alloc_calls_after_warmup", report.alloc_calls_after_warmup},
          {"micro_batches", std::vector<int64_t>(seconds.size(), run.batch.micro_batch)},
          {"replans", report.replans},
          {"interrupted", report.interrupted},
          {"stopped_early", report.stopped_early},
          {"plan_digest", run.plan_digest},
          {"parameters_sha256", parameters_sha256}};
}

void print_train(const train::PlannedRun& run, const train::RunReport& report, std::ostream& out) {
  const bool tokens = run.targets_per_sample > 1;
  out << fmt::format("{} after {} steps", report.interrupted ? "stopped as asked" : "done", report.steps);
  if (!report.losses.empty()) out << fmt::format(", loss {:.4f}", report.losses.back());
  if (report.eval) out << fmt::format(", evaluation loss {:.4f}", report.eval->loss);
  if (report.eval && report.eval->accuracy) out << fmt::format(", accuracy {:.2f}%", 100 * *report.eval->accuracy);
  out << fmt::format("\nstep median {:.1f} ms, {:.0f} {}/s\n", 1e3 * median(report.step_seconds),
                     rate(tokens ? report.targets : report.samples, report), tokens ? "tokens" : "samples");
  out << fmt::format("memory planned {} bytes, measured {} bytes ({}), budget {}\n", run.planned_peak_bytes,
                     report.measured_peak_bytes,
                     report.measured_peak_bytes == run.planned_peak_bytes ? "equal" : "DIFFERENT",
                     format_bytes(run.budget_bytes));
}

}  // namespace tidemark::cli
