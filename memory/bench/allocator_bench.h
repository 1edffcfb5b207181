// `tidemark bench allocator`: how much memory and how much time the caching allocator takes for recorded or generated
// calls. Pages are this machine's, so a trace is to be one whose bytes it has.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "memory/call_trace/call_trace.h"

namespace tidemark::memory {

struct AllocatorBenchOptions {
  // The device gives no more. `tight`: no more than the trace's bound, so that every page that is not used well is a
  // failure.
  std::optional<int64_t> limit_bytes;
  bool tight = false;
  int repeats = 3;                 // of every replay; times are medians
  std::vector<std::string> peers;  // shared libraries with malloc and free, timed on the same calls
};

// Times are CPU nanoseconds of the calling thread a call, of replays that touch no memory.
struct PeerTime {
  std::string name;
  double ns_per_call = 0;
};

struct AllocatorBenchRow {
  std::string trace;
  int64_t calls = 0;
  int64_t most_live_blocks = 0;
  int64_t peak_requested_bytes = 0;  // most that was live at once, as asked for
  int64_t peak_allocated_bytes = 0;
  int64_t peak_reserved_bytes = 0;  // pages, measured at the device
  // Most over time of: large blocks each rounded up to pages, and all small ones together rounded up to pages.
  int64_t bound_bytes = 0;
  double utilization = 0;        // bound / peak reserved
  double large_utilization = 0;  // the same of a replay of the large blocks alone; 0 if there are none
  double small_utilization = 0;  // of the small ones alone
  double hit_share = 0;          // of allocations, served without new pages or mappings
  double ns_per_call = 0;        // the first pages and mappings included
  double warm_ns_per_call = 0;   // of a further replay on the same allocator
  int64_t failures = 0;          // refused requests
  int64_t broken_promises = 0;   // of them, those whose page-rounded size was at most free + cached
  std::vector<PeerTime> peers;
};

// A call that finds its block in the cache: allocate and free one size over and over.
struct HitTime {
  int64_t bytes = 0;
  double ns = 0;  // a call
  std::vector<PeerTime> peers;
};

struct AllocatorBenchReport {
  AllocatorBenchOptions options;
  int64_t page_bytes = 0;
  int64_t large_bytes = 0;  // blocks from here on are large
  std::vector<AllocatorBenchRow> rows;
  std::vector<HitTime> hits;
};

// The bound of AllocatorBenchRow for these calls.
int64_t pages_bound(const CallTrace& trace, int64_t page_bytes, int64_t large_bytes);

// Adds a row. Throws Error(config) for a peer that cannot be loaded or has no malloc and free.
void bench_call_trace(const CallTrace& trace, AllocatorBenchReport& report);

// Fills report.hits with one size of each kind.
void bench_hits(AllocatorBenchReport& report);

// One JSON object.
std::string to_json(const AllocatorBenchReport& report);

// A table for people.
void print_table(const AllocatorBenchReport& report, std::ostream& out);

}  // namespace tidemark::memory
