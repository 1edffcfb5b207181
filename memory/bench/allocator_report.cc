// How a report of the allocator benchmark is written.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <ostream>

#include "base/bytes.h"
#include "memory/bench/allocator_bench.h"

namespace tidemark::memory {
namespace {

using Json = nlohmann::ordered_json;

Json peers_json(const std::vector<PeerTime>& peers) {
  Json json = Json::object();
  for (const PeerTime& peer : peers) json[peer.name] = peer.ns_per_call;
  return json;
}

Json row_json(const AllocatorBenchRow& row) {
  return Json{{"trace", row.trace},
              {"calls", row.calls},
              {"most_live_blocks", row.most_live_blocks},
              {"peak_requested", row.peak_requested_bytes},
              {"peak_allocated", row.peak_allocated_bytes},
              {"peak_reserved", row.peak_reserved_bytes},
              {"bound", row.bound_bytes},
              {"utilization", row.utilization},
              {"large_utilization", row.large_utilization},
              {"small_utilization", row.small_utilization},
              {"hit_share", row.hit_share},
              {"ns_per_call", row.ns_per_call},
              {"warm_ns_per_call", row.warm_ns_per_call},
              {"failures", row.failures},
              {"broken_promises", row.broken_promises},
              {"peer_ns_per_call", peers_json(row.peers)}};
}

std::string percent(double share) { return share == 0 ? "-" : fmt::format("{:.2f}", 100 * share); }

// Where requests were refused, less was reserved than the trace wants: the ratio would praise the refusals.
std::string use_of(const AllocatorBenchRow& row) { return row.failures > 0 ? "-" : percent(row.utilization); }

std::string peers_text(const std::vector<PeerTime>& peers) {
  std::string text;
  for (const PeerTime& peer : peers) text += fmt::format("  {} {:.0f}", peer.name, peer.ns_per_call);
  return text;
}

}  // namespace

std::string to_json(const AllocatorBenchReport& report) {
  Json json;
  json["page"] = report.page_bytes;
  json["large_from"] = report.large_bytes;
  if (report.options.limit_bytes) json["limit"] = *report.options.limit_bytes;
  json["tight"] = report.options.tight;
  json["traces"] = Json::array();
  for (const AllocatorBenchRow& row : report.rows) json["traces"].push_back(row_json(row));
  json["hits"] = Json::array();
  for (const HitTime& hit : report.hits)
    json["hits"].push_back({{"bytes", hit.bytes}, {"ns", hit.ns}, {"peer_ns", peers_json(hit.peers)}});
  return json.dump(2);
}

void print_table(const AllocatorBenchReport& report, std::ostream& out) {
  size_t width = 5;
  for (const AllocatorBenchRow& row : report.rows) width = std::max(width, row.trace.size());
  out << fmt::format("{:{}}{:>9}{:>9}{:>11}{:>11}{:>11}{:>8}{:>8}{:>8}{:>7}{:>8}{:>8}{:>7}{:>8}\n", "trace", width,
                     "calls", "blocks", "allocated", "reserved", "bound", "use %", "large", "small", "hits %", "ns",
                     "warm ns", "failed", "broken");
  for (const AllocatorBenchRow& row : report.rows) {
    out << fmt::format("{:{}}{:>9}{:>9}{:>11}{:>11}{:>11}{:>8}{:>8}{:>8}{:>7.1f}{:>8.0f}{:>8.0f}{:>7}{:>8}{}\n",
                       row.trace, width, row.calls, row.most_live_blocks, format_bytes(row.peak_allocated_bytes),
                       format_bytes(row.peak_reserved_bytes), format_bytes(row.bound_bytes), use_of(row),
                       percent(row.large_utilization), percent(row.small_utilization), 100 * row.hit_share,
                       row.ns_per_call, row.warm_ns_per_call, row.failures, row.broken_promises, peers_text(row.peers));
  }
  for (const HitTime& hit : report.hits) {
    out << fmt::format("a hit of {:>9}: {:.1f} ns a call{}\n", format_bytes(hit.bytes), hit.ns, peers_text(hit.peers));
  }
  out << fmt::format(
      "pages of {}; blocks from {} are large; times are CPU ns a call\n"
      "blocks, allocated, reserved: the most at once; bound: the most over time of the large blocks rounded up to "
      "pages "
      "each, and the small ones together\n"
      "use %: bound by reserved (-: a request failed); large, small: of these blocks alone (-: there are none)\n"
      "hits %: requests served without new pages or mappings; warm ns: in a further replay with the cache filled\n"
      "failed: refused requests; broken: those of them that free and cached pages had room for\n",
      format_bytes(report.page_bytes), format_bytes(report.large_bytes));
}

}  // namespace tidemark::memory
