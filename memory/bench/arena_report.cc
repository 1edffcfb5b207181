// How a report of the arena benchmark is written.
#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include "memory/bench/arena_bench.h"

namespace tidemark::memory {
namespace {

nlohmann::ordered_json row_json(const ArenaBenchRow& row) {
  nlohmann::ordered_json json;
  json["file"] = row.file;
  json["buffers"] = row.buffers;
  json["lower_bound"] = row.lower_bound_bytes;
  json["peak"] =
      row.peak_bytes == 0 && row.buffers > 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(row.peak_bytes);
  json["proven_optimal"] = row.proven_optimal;
  if (row.fits) {
    json["fits"] = *row.fits;
    json["proven_impossible"] = row.proven_impossible;
  } else {
    json["fits"] = nullptr;
  }
  json["cpu_seconds"] = row.cpu_seconds;
  json["planner"] = row.planner;
  json["work"] = row.work;
  if (row.variants > 1) {
    json["variants"] = row.variants;
    json["variants_solved"] = row.variants_solved;
    json["worst_peak"] = row.worst_peak_bytes;
    json["cpu_seconds_min"] = row.least_cpu_seconds;
    json["cpu_seconds_max"] = row.most_cpu_seconds;
  }
  return json;
}

std::string verdict(const ArenaBenchRow& row) {
  if (row.proven_impossible) return "impossible";
  if (row.fits && !*row.fits) return "not found";
  if (row.proven_optimal) return row.fits ? "fits, optimal" : "optimal";
  return row.fits ? "fits" : "";
}

double percent_over_bound(const ArenaBenchRow& row) {
  if (row.lower_bound_bytes == 0 || row.peak_bytes == 0) return 0;
  return 100.0 * static_cast<double>(row.peak_bytes - row.lower_bound_bytes) /
         static_cast<double>(row.lower_bound_bytes);
}

std::string base_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

}  // namespace

std::string to_json(const ArenaBenchReport& report) {
  nlohmann::ordered_json json;
  json["planner"] = report.options.planner;
  if (report.options.capacity_bytes) json["capacity"] = *report.options.capacity_bytes;
  json["files"] = nlohmann::ordered_json::array();
  for (const ArenaBenchRow& row : report.rows) json["files"].push_back(row_json(row));
  json["cpu_seconds"] = report.cpu_seconds;
  json["process_peak_bytes"] = report.process_peak_bytes;
  return json.dump(2);
}

void print_table(const ArenaBenchReport& report, std::ostream& out) {
  const bool variants = report.options.variants > 1;
  size_t width = 4;
  for (const ArenaBenchRow& row : report.rows) width = std::max(width, base_name(row.file).size());
  const auto file_width = static_cast<int>(width);
  out << std::left << std::setw(file_width) << "file" << std::right << std::setw(9) << "buffers" << std::setw(14)
      << "lower bound" << std::setw(14) << "peak" << std::setw(9) << "over %" << std::setw(11) << "cpu ms";
  if (variants) out << std::setw(11) << "max ms" << std::setw(9) << "solved";
  out << "  verdict\n" << std::fixed;
  for (const ArenaBenchRow& row : report.rows) {
    out << std::left << std::setw(file_width) << base_name(row.file) << std::right << std::setw(9) << row.buffers
        << std::setw(14) << row.lower_bound_bytes << std::setw(14) << row.peak_bytes << std::setprecision(3)
        << std::setw(9) << percent_over_bound(row) << std::setw(11) << 1e3 * row.cpu_seconds;
    if (variants) {
      const std::string solved = std::to_string(row.variants_solved) + "/" + std::to_string(row.variants);
      out << std::setw(11) << 1e3 * row.most_cpu_seconds << std::setw(9) << solved;
    }
    out << "  " << verdict(row) << '\n';
  }
  out << "together " << std::setprecision(3) << 1e3 * report.cpu_seconds << " ms" << (variants ? " (medians)" : "")
      << ", process peak " << (report.process_peak_bytes >> 20) << " MiB\n";
}

}  // namespace tidemark::memory
