#include "memory/bench/allocator_bench.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/thread_time.h"
#include "device/host_memory.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/bench/peer_malloc.h"
#include "memory/pages/page_pool.h"

namespace tidemark::memory {
namespace {

double thread_ns() { return 1e9 * thread_cpu_seconds(); }

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

int64_t round_up(int64_t bytes, int64_t page_bytes) { return (bytes + page_bytes - 1) / page_bytes * page_bytes; }

// Ids made dense, so that a replay finds its addresses in an array.
struct DenseCall {
  uint32_t slot;
  int64_t bytes;  // 0: free
  Category category;
};

std::vector<DenseCall> dense(const CallTrace& trace) {
  std::unordered_map<int64_t, uint32_t> slots;
  std::vector<DenseCall> calls;
  for (const AllocatorCall& call : trace.calls) {
    const uint32_t slot = slots.try_emplace(call.id, static_cast<uint32_t>(slots.size())).first->second;
    calls.push_back({slot, call.bytes, call.category});
  }
  return calls;
}

size_t slot_count(const std::vector<DenseCall>& calls) {
  uint32_t most = 0;
  for (const DenseCall& call : calls) most = std::max(most, call.slot);
  return size_t{most} + 1;
}

CallTrace part_of(const CallTrace& trace, const std::function<bool(int64_t bytes)>& counts) {
  CallTrace part{trace.name, {}};
  std::unordered_map<int64_t, bool> kept;
  for (const AllocatorCall& call : trace.calls) {
    if (!call.is_free()) kept[call.id] = counts(call.bytes);
    if (kept[call.id]) part.calls.push_back(call);
  }
  return part;
}

struct Replay {
  AllocatorStats stats;  // at the end of the first pass
  int64_t measured_peak_bytes = 0;
  double first_ns = 0;  // a call
  double warm_ns = 0;
  int64_t failures = 0;
  int64_t broken_promises = 0;
};

// Runs the calls once; what is still live at the end goes back. Returns nanoseconds a call.
double run(const std::vector<DenseCall>& calls, Allocator& allocator, const HostMemory& device, Replay& replay) {
  std::vector<std::byte*> blocks(slot_count(calls));
  const double start = thread_ns();
  for (const DenseCall& call : calls) {
    std::byte*& block = blocks[call.slot];
    if (call.bytes == 0) {
      if (block) allocator.deallocate(block);
      block = nullptr;
      continue;
    }
    try {
      block = allocator.allocate({.bytes = call.bytes, .category = call.category});
    } catch (const Error& e) {
      if (e.code() != ErrorCode::out_of_memory) throw;
      ++replay.failures;
      const AllocatorStats now = allocator.stats();
      const int64_t room = std::min(device.limit_bytes() - device.committed_bytes(), device.committable_bytes());
      if (device.round_up(call.bytes) <= room + now.cached_bytes + now.pending_bytes) ++replay.broken_promises;
    }
  }
  const double ns = thread_ns() - start;
  for (std::byte* block : blocks) {
    if (block) allocator.deallocate(block);
  }
  return ns / static_cast<double>(calls.size());
}

Replay replay(const CallTrace& trace, const AllocatorBenchOptions& options, int64_t limit_bytes) {
  const std::vector<DenseCall> calls = dense(trace);
  std::vector<double> first, warm;
  Replay result;
  for (int i = 0; i < std::max(1, options.repeats); ++i) {
    HostMemory device;
    device.set_limit_bytes(limit_bytes);
    PagePool pool(device);
    CachingAllocator allocator(pool);
    result.failures = result.broken_promises = 0;
    first.push_back(run(calls, allocator, device, result));
    result.stats = allocator.stats();
    result.measured_peak_bytes = device.peak_committed_bytes();
    Replay again;
    warm.push_back(run(calls, allocator, device, again));
    result.broken_promises += again.broken_promises;
  }
  result.first_ns = median(first);
  result.warm_ns = median(warm);
  return result;
}

double peer_ns(const std::vector<DenseCall>& calls, const PeerMalloc& peer) {
  std::vector<void*> blocks(slot_count(calls));
  const double start = thread_ns();
  for (const DenseCall& call : calls) {
    void*& block = blocks[call.slot];
    if (call.bytes == 0) {
      peer.deallocate(std::exchange(block, nullptr));
    } else {
      block = peer.allocate(static_cast<size_t>(call.bytes));
    }
  }
  const double ns = thread_ns() - start;
  for (void* block : blocks) peer.deallocate(block);
  return ns / static_cast<double>(calls.size());
}

std::vector<PeerTime> time_peers(const std::vector<DenseCall>& calls, const AllocatorBenchOptions& options) {
  std::vector<PeerTime> times;
  for (const std::string& library : options.peers) {
    const PeerMalloc peer(library);
    std::vector<double> ns;
    for (int i = 0; i < std::max(1, options.repeats) + 1; ++i) ns.push_back(peer_ns(calls, peer));
    ns.erase(ns.begin());  // the cold one
    times.push_back({peer.name(), median(ns)});
  }
  return times;
}

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

double utilization_of_part(const CallTrace& part, const AllocatorBenchReport& report) {
  if (part.calls.empty()) return 0;
  AllocatorBenchOptions once = report.options;
  once.repeats = 1;
  const Replay alone = replay(part, once, std::numeric_limits<int64_t>::max());
  return share(pages_bound(part, report.page_bytes, report.large_bytes), alone.measured_peak_bytes);
}

}  // namespace

int64_t pages_bound(const CallTrace& trace, int64_t page_bytes, int64_t large_bytes) {
  std::unordered_map<int64_t, int64_t> live;
  int64_t large = 0, small = 0, most = 0;
  for (const AllocatorCall& call : trace.calls) {
    const int64_t bytes = call.is_free() ? live[call.id] : call.bytes;
    const int64_t sign = call.is_free() ? -1 : 1;
    (bytes >= large_bytes ? large : small) += sign * (bytes >= large_bytes ? round_up(bytes, page_bytes) : bytes);
    if (!call.is_free()) live[call.id] = bytes;
    most = std::max(most, large + round_up(small, page_bytes));
  }
  return most;
}

void bench_call_trace(const CallTrace& trace, AllocatorBenchReport& report) {
  report.page_bytes = HostMemory().granularity_bytes();
  report.large_bytes = report.page_bytes / 2;  // AllocatorOptions::large_bytes
  const auto is_large = [&](int64_t bytes) { return bytes >= report.large_bytes; };
  const CallTrace large = part_of(trace, is_large);
  const CallTrace small = part_of(trace, [&](int64_t bytes) { return !is_large(bytes); });

  AllocatorBenchRow row;
  row.trace = trace.name;
  row.calls = static_cast<int64_t>(trace.calls.size());
  row.bound_bytes = pages_bound(trace, report.page_bytes, report.large_bytes);
  int64_t limit = report.options.limit_bytes.value_or(std::numeric_limits<int64_t>::max());
  if (report.options.tight) limit = std::min(limit, row.bound_bytes);
  const Replay whole = replay(trace, report.options, limit);
  int64_t live = 0;
  for (const AllocatorCall& call : trace.calls) {
    live += call.is_free() ? -1 : 1;
    row.most_live_blocks = std::max(row.most_live_blocks, live);
  }
  row.peak_requested_bytes = whole.stats.requested_peak_bytes;
  row.peak_allocated_bytes = whole.stats.allocated_peak_bytes;
  row.peak_reserved_bytes = whole.measured_peak_bytes;
  row.utilization = share(row.bound_bytes, row.peak_reserved_bytes);
  row.large_utilization = utilization_of_part(large, report);
  row.small_utilization = utilization_of_part(small, report);
  row.hit_share = share(whole.stats.hits, whole.stats.allocations);
  row.ns_per_call = whole.first_ns;
  row.warm_ns_per_call = whole.warm_ns;
  row.failures = whole.failures;
  row.broken_promises = whole.broken_promises;
  row.peers = time_peers(dense(trace), report.options);
  report.rows.push_back(std::move(row));
}

void bench_hits(AllocatorBenchReport& report) {
  constexpr int64_t kCalls = 200'000;
  HostMemory device;
  PagePool pool(device);
  CachingAllocator allocator(pool);
  for (const int64_t bytes : {int64_t{256}, int64_t{40'000}, int64_t{3} << 20, int64_t{32} << 20}) {
    CallTrace trace{"", {}};
    for (int64_t i = 0; i < kCalls / 2; ++i) {
      trace.calls.push_back({0, bytes, Category::activations});
      trace.calls.push_back({0, 0, Category::activations});
    }
    const std::vector<DenseCall> calls = dense(trace);
    // A block beside it stays, so that the pages never become wholly free.
    const Block neighbour(allocator, {.bytes = bytes});
    std::vector<double> ns;
    Replay unused;
    for (int i = 0; i < 5; ++i) ns.push_back(run(calls, allocator, device, unused));
    report.hits.push_back({bytes, median(ns), time_peers(calls, report.options)});
  }
}

}  // namespace tidemark::memory
