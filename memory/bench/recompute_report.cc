#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "base/bytes.h"
#include "memory/bench/recompute_bench.h"

namespace tidemark::memory {
namespace {

using Json = nlohmann::ordered_json;

Json row_json(const RecomputeBenchRow& row) {
  return {{"graph", row.graph},
          {"budget", row.budget},
          {"steps", row.steps},
          {"plain_peak", row.plain_peak_bytes},
          {"least_conceivable_peak", row.least_conceivable_bytes},
          {"budget_bytes", row.budget_bytes},
          {"reached", row.reached},
          {"peak", row.peak_bytes},
          {"overhead", row.overhead},
          {"overhead_lower_bound", row.overhead_lower_bound},
          {"median_overhead", row.median_overhead},
          {"worst_overhead", row.worst_overhead},
          {"variants_reached", row.variants_reached},
          {"arena_peak", row.arena_peak_bytes},
          {"arena_overhead", row.arena_overhead},
          {"work", row.work},
          {"cpu_seconds", row.cpu_seconds},
          {"bound_cpu_seconds", row.bound_cpu_seconds},
          {"arena_cpu_seconds", row.arena_cpu_seconds}};
}

Json frontier_json(const RecomputeBenchFrontier& frontier) {
  Json points = Json::array();
  for (const FrontierPoint& point : frontier.points) {
    Json entry = {{"budget_bytes", point.budget_bytes}, {"reached", point.reached}};
    if (point.reached) {
      entry["peak_bytes"] = point.plan.peak_live_bytes;
      entry["overhead"] = point.plan.overhead;
      entry["overhead_lower_bound"] = point.plan.overhead_lower_bound;
    }
    points.push_back(std::move(entry));
  }
  return {{"graph", frontier.graph},
          {"plain_peak", frontier.plain_peak_bytes},
          {"cpu_seconds", frontier.cpu_seconds},
          {"points", std::move(points)}};
}

void print_row(const RecomputeBenchRow& row, std::ostream& out) {
  const std::string graph = row.graph.substr(row.graph.find_last_of('/') + 1);
  if (!row.reached) {
    out << fmt::format("{:<28} {:>8} not reached: lowest peak {:.4f} x budget, least conceivable {:.4f} x {:>14.2f}\n",
                       graph, row.budget, static_cast<double>(row.peak_bytes) / static_cast<double>(row.budget_bytes),
                       static_cast<double>(row.least_conceivable_bytes) / static_cast<double>(row.budget_bytes),
                       1e3 * row.cpu_seconds);
    return;
  }
  const std::string arena = row.arena_peak_bytes > 0 ? fmt::format("{:.4f} %", 100 * row.arena_overhead) : "-";
  out << fmt::format("{:<28} {:>8} {:>8.4f} % {:>8.4f} % {:>8.4f} % {:>10} {:>9.2f} {:>9.2f} {:>9.2f}\n", graph,
                     row.budget, 100 * row.overhead, 100 * row.overhead_lower_bound, 100 * row.median_overhead, arena,
                     1e3 * row.cpu_seconds, 1e3 * row.bound_cpu_seconds, 1e3 * row.arena_cpu_seconds);
}

void print_rows(const std::vector<RecomputeBenchRow>& rows, std::ostream& out) {
  if (rows.empty()) return;
  out << fmt::format("{:<28} {:>8} {:>10} {:>10} {:>10} {:>10} {:>9} {:>9} {:>9}\n", "graph", "budget", "overhead",
                     "bound", "median", "in arena", "ms", "bound ms", "arena ms");
  for (const RecomputeBenchRow& row : rows) print_row(row, out);
}

void print_frontier(const RecomputeBenchFrontier& frontier, std::ostream& out) {
  out << fmt::format("frontier of {}: {} budgets in {:.2f} ms, bounds and checks not counted\n", frontier.graph,
                     frontier.points.size(), 1e3 * frontier.cpu_seconds);
  for (const FrontierPoint& point : frontier.points) {
    const double share = static_cast<double>(point.budget_bytes) / static_cast<double>(frontier.plain_peak_bytes);
    out << fmt::format("  {:>12} {:>7.2f} % of the peak  ", format_bytes(point.budget_bytes), 100 * share);
    out << (point.reached ? fmt::format("overhead {:>9.4f} %, at least {:>9.4f} %\n", 100 * point.plan.overhead,
                                        100 * point.plan.overhead_lower_bound)
                          : std::string("not reached\n"));
  }
}

}  // namespace

std::string to_json(const RecomputeBenchReport& report) {
  Json out = {{"planner", report.options.planner},
              {"offset_planner", report.options.offset_planner},
              {"variants", report.options.variants},
              {"work_limit", report.options.work_limit},
              {"rows", Json::array()},
              {"frontiers", Json::array()}};
  for (const RecomputeBenchRow& row : report.rows) out["rows"].push_back(row_json(row));
  for (const RecomputeBenchFrontier& frontier : report.frontiers) out["frontiers"].push_back(frontier_json(frontier));
  return out.dump(2);
}

void print_table(const RecomputeBenchReport& report, std::ostream& out) {
  print_rows(report.rows, out);
  bool first = report.rows.empty();
  for (const RecomputeBenchFrontier& frontier : report.frontiers) {
    if (!first) out << '\n';
    first = false;
    print_frontier(frontier, out);
  }
}

}  // namespace tidemark::memory
