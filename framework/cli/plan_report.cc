#include "framework/cli/plan_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>

#include "base/bytes.h"
#include "framework/compile/compile.h"

namespace tidemark::cli {
namespace {

using nlohmann::ordered_json;

ordered_json bodies_json(const compile::Program& program) {
  ordered_json bodies = ordered_json::array();
  for (const compile::Body& body : program.bodies)
    bodies.push_back({{"name", body.name},
                      {"instructions", body.instructions.size()},
                      {"peak_bytes", body.peak_bytes},
                      {"lower_bound_bytes", body.lower_bound_bytes},
                      {"proven_optimal", body.plan.proven_optimal},
                      {"planner", body.plan.planner},
                      {"recompute_planner", body.recomputation.planner},
                      {"recomputed_instructions", body.recomputation.further_runs},
                      {"recompute_overhead", body.recomputation.overhead}});
  return bodies;
}

ordered_json seconds_json(const std::optional<double>& seconds) {
  return seconds ? ordered_json(*seconds) : ordered_json(nullptr);
}

// With estimated costs the schedule itself hangs on them, and the bytes with it.
ordered_json estimated_figures(const train::PlannedRun& run) {
  if (!run.costs.estimated) return ordered_json::array();
  return {"planned_peak_bytes",
          "arena_bytes",
          "lower_bound_bytes",
          "categories",
          "recomputed_instructions",
          "recompute_overhead",
          "recompute_overhead_lower_bound",
          "predicted_step_seconds",
          "bodies"};
}

// Behind every figure that hangs on estimated costs.
const char* label(const train::PlannedRun& run) { return run.costs.estimated ? ", estimated" : ""; }

// A figure of a busy machine may be thousands of times the next one.
std::string ratio_text(double ratio) {
  return ratio < 0.1 ? fmt::format("{:.1g}", ratio) : fmt::format("{:.2f}", ratio);
}

std::string change_line(const train::CostNote& costs) {
  if (!costs.change) return "";
  const compile::CostChange& c = *costs.change;
  if (c.compared == 0) return "again          none was known before\n";
  return fmt::format(
      "again          {} were known before: {} changed by more than {:.0f} %; new by old {} in the median, "
      "{} to {}\n",
      c.compared, c.changed, 100 * compile::kNoticedChange, ratio_text(c.median_ratio), ratio_text(c.least_ratio),
      ratio_text(c.greatest_ratio));
}

std::string cost_line(const train::PlannedRun& run) {
  if (run.costs.estimated) return "costs          estimated from FLOPs and bytes; nothing was measured\n";
  if (!run.predicted_step_seconds && run.recompute_overhead == 0)
    return run.batch.packed()
               ? "costs          not needed: packed data is not recomputed, and its shapes come with the batches\n"
               : "costs          not needed: nothing runs again; --explain measures them for a predicted step\n";
  return fmt::format("costs          measured, {} of them now, kept in {}\n{}", run.costs.measured,
                     run.costs.file.empty() ? "no file" : run.costs.file, change_line(run.costs));
}

std::string exact(int64_t bytes) { return fmt::format("{} ({} bytes)", format_bytes(bytes), bytes); }

int64_t parameter_count(const compile::Program& program) {
  int64_t count = 0;
  for (const compile::Tensor& t : program.persistent)
    if (t.category == Category::weights) count += t.type.shape.elements();
  return count;
}

// Names say how many samples, and for packed data how many rows.
void print_bodies(const train::PlannedRun& run, std::ostream& out) {
  out << (run.batch.packed() ? "bodies [samples x rows]" : "bodies [samples]") << label(run) << '\n';
  size_t width = 0;
  for (const compile::Body& body : run.program->bodies) width = std::max(width, body.name.size());
  for (const compile::Body& body : run.program->bodies)
    out << fmt::format(
        "  {:<{}} {:>6} instructions, peak {}{}\n", body.name, width, body.instructions.size(), exact(body.peak_bytes),
        body.plan.proven_optimal ? ", proven optimal" : ", lower bound " + exact(body.lower_bound_bytes));
}

}  // namespace

ordered_json categories_json(const CategoryBytes& bytes) {
  ordered_json categories = ordered_json::object();
  for (int c = 0; c < kCategoryCount; ++c)
    if (bytes[static_cast<size_t>(c)] > 0)
      categories[std::string(to_string(static_cast<Category>(c)))] = bytes[static_cast<size_t>(c)];
  return categories;
}

int64_t recomputed_instructions(const train::PlannedRun& run) {
  const auto overhead = [](const compile::Body& body) { return body.recomputation.overhead; };
  return std::ranges::max_element(run.program->bodies, {}, overhead)->recomputation.further_runs;
}

ordered_json cost_change_json(const compile::CostChange& change) {
  return {{"compared", change.compared},
          {"changed", change.changed},
          {"median_ratio", change.median_ratio},
          {"least_ratio", change.least_ratio},
          {"greatest_ratio", change.greatest_ratio}};
}

// Empty where there was nothing to choose.
ordered_json micro_batches_json(const train::PlannedRun& run) {
  ordered_json options = ordered_json::array();
  if (run.micro_batches.size() < 2) return options;
  for (const train::MicroBatchOption& o : run.micro_batches) {
    ordered_json option{
        {"micro_batch", o.micro_batch}, {"fits", o.fits}, {"taken", o.micro_batch == run.batch.micro_batch}};
    if (!o.why_not.empty()) option["why_not"] = o.why_not;
    if (o.fits) {
      option["planned_peak_bytes"] = o.planned_peak_bytes;
      option["recompute_overhead"] = o.recompute_overhead;
      option["recompute_overhead_lower_bound"] = o.recompute_overhead_lower_bound;
      option["predicted_step_seconds"] = seconds_json(o.predicted_step_seconds);
    }
    options.push_back(std::move(option));
  }
  return options;
}

void print_micro_batches(const train::PlannedRun& run, std::ostream& out) {
  if (run.micro_batches.size() < 2) return;
  out << "micro-batches  looked at:";
  const char* separator = " ";
  for (const train::MicroBatchOption& o : run.micro_batches) {
    out << std::exchange(separator, "; ") << o.micro_batch
        << (o.micro_batch == run.batch.micro_batch ? " (taken): " : ": ") << o.why_not;
    if (o.fits) out << fmt::format("{:.2f} % more cost", 100 * o.recompute_overhead);
    if (o.predicted_step_seconds) out << fmt::format(", {:.4f} s a step", *o.predicted_step_seconds);
  }
  out << label(run) << '\n';
}

ordered_json plan_json(const train::PlannedRun& run, const std::string& device) {
  const compile::Program& program = *run.program;
  return {{"model", program.name},
          {"device", device},
          {"budget_bytes", run.budget_bytes},
          {"planned_peak_bytes", run.planned_peak_bytes},
          {"arena_bytes", run.arena_bytes},
          {"lower_bound_bytes", program.lower_bound_bytes},
          {"block_bytes", run.block_bytes},
          {"categories", categories_json(program.peak_categories)},
          {"parameters", parameter_count(program)},
          {"global_batch", run.batch.global_batch},
          {"micro_batch", run.batch.micro_batch},
          {"norm_batch", run.batch.norm_batch},
          {"accumulation_steps", run.batch.accumulation_steps()},
          {"micro_batches_considered", micro_batches_json(run)},
          {"total_steps", run.total_steps},
          {"recomputed_instructions", recomputed_instructions(run)},
          {"recompute_overhead", run.recompute_overhead},
          {"recompute_overhead_lower_bound", run.recompute_overhead_lower_bound},
          {"cost_digest", run.cost_digest},
          {"costs", run.costs.estimated ? "estimated" : "measured"},
          {"costs_measured_now", run.costs.measured},
          {"cost_file", run.costs.file},
          {"predicted_step_seconds", seconds_json(run.predicted_step_seconds)},
          {"estimated", estimated_figures(run)},
          {"plan_seconds", run.plan_seconds},
          {"plan_digest", run.plan_digest},
          {"peak_body", program.bodies[program.peak_body].name},
          {"bodies", bodies_json(program)}};
}

ordered_json refusal_json(const config::Config& config, const std::string& device, int64_t budget_bytes,
                          const Error& why) {
  const auto* refusal = dynamic_cast<const compile::BudgetRefusal*>(&why);
  return {
      {"model", config.model->kind()},
      {"device", device},
      {"budget_bytes", budget_bytes},
      {"planned_peak_bytes", nullptr},
      {"least_budget_bytes", refusal == nullptr ? ordered_json(nullptr) : ordered_json(refusal->least_budget_bytes())},
      {"refused", why.what()}};
}

void print_plan(const train::PlannedRun& run, const std::string& device, std::ostream& out) {
  const compile::Program& program = *run.program;
  out << fmt::format("model          {}, {} parameters\n", program.name, parameter_count(program));
  out << fmt::format("device         {}, budget {}\n", device, exact(run.budget_bytes));
  out << fmt::format("batch          {} = {} micro-batches of {}, {} steps\n", run.batch.global_batch,
                     run.batch.accumulation_steps(), run.batch.micro_batch, run.total_steps);
  print_micro_batches(run, out);
  out << fmt::format("planned peak   {} in '{}'{}\n", exact(run.planned_peak_bytes),
                     program.bodies[program.peak_body].name, label(run));
  if (run.batch.packed()) {
    out << fmt::format("bound          all shapes that the data's lengths allow: arena {}, bodies {}{}\n",
                       exact(run.planned_peak_bytes - run.block_bytes), exact(run.block_bytes), label(run));
  } else {
    out << fmt::format("arena          {}, lower bound {}{}\n", exact(program.arena_bytes),
                       exact(program.lower_bound_bytes), label(run));
  }
  for (const compile::Body& body : program.bodies)
    if (const compile::Recomputation& r = body.recomputation; r.further_runs > 0)
      out << fmt::format(
          "recomputation  {}: {} instructions run again, {:.2f} % more cost (at least {:.2f} %), by {}{}\n", body.name,
          r.further_runs, 100 * r.overhead, 100 * r.overhead_lower_bound, r.planner, label(run));
  if (run.predicted_step_seconds)
    out << fmt::format("step           {:.4f} s predicted, the sum of its instructions' costs{}\n",
                       *run.predicted_step_seconds, label(run));
  out << cost_line(run);
  out << "live at the peak" << label(run) << '\n';
  int64_t live = 0;
  for (int c = 0; c < kCategoryCount; ++c) {
    const int64_t bytes = program.peak_categories[static_cast<size_t>(c)];
    live += bytes;
    if (bytes > 0) out << fmt::format("  {:<14} {}\n", to_string(static_cast<Category>(c)), exact(bytes));
  }
  out << fmt::format("  {:<14} {}\n", "free in arena", exact(run.planned_peak_bytes - live));
  print_bodies(run, out);
  out << fmt::format("planned in {:.3f} s, digest {}\n", run.plan_seconds, run.plan_digest.substr(0, 16));
}

std::string single_point_reason(const train::PlannedRun& run, const config::Config& config,
                                const std::vector<train::BudgetPoint>& points) {
  if (points.size() != 1) return "";
  if (run.batch.packed())
    return fmt::format("data.kind {} is packed: its bodies lie in blocks of an allocator and are not recomputed",
                       config.data->kind());
  if (config.memory.recompute == "none")
    return "memory.recompute is none: nothing runs again; set memory.recompute: auto";
  return "no schedule was found that needs a page less, whatever runs again";
}

ordered_json frontier_json(const std::vector<train::BudgetPoint>& points) {
  ordered_json curve = ordered_json::array();
  for (const train::BudgetPoint& p : points) {
    ordered_json point{{"budget_bytes", p.budget_bytes}, {"reached", p.reached}, {"least", p.least}};
    if (p.reached) {
      point["peak_bytes"] = p.peak_bytes;
      point["overhead"] = p.overhead;
      point["overhead_lower_bound"] = p.overhead_lower_bound;
      point["micro_batch"] = p.micro_batch;
      point["predicted_step_seconds"] = seconds_json(p.predicted_step_seconds);
    }
    curve.push_back(std::move(point));
  }
  return curve;
}

void print_frontier(const std::vector<train::BudgetPoint>& points, const std::string& reason, bool estimated,
                    std::ostream& out) {
  out << "      budget         peak micro-batch   overhead   at least" << (estimated ? "   (estimated)\n" : "\n");
  for (const train::BudgetPoint& p : points) {
    out << fmt::format("{:>12} ", format_bytes(p.budget_bytes));
    out << (p.reached
                ? fmt::format("{:>12} {:>11} {:>8.2f} % {:>8.2f} %{}\n", format_bytes(p.peak_bytes), p.micro_batch,
                              100 * p.overhead, 100 * p.overhead_lower_bound, p.least ? "   least budget" : "")
                : std::string("  out of reach\n"));
  }
  if (!reason.empty()) out << "one point: " << reason << '\n';
}

}  // namespace tidemark::cli
