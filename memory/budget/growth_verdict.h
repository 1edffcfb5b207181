// Stable or growing? The verdict over the memory figures of a run, one sample at each step boundary.
//
// A pure function: samples in, verdict out. What it promises and what it cannot know: Note [Straight growth] in
// series_trend.cc.
//
// Note [Declared caches]
// A cache that takes an entry in every step looks like a leak until it is full. One that counts its entries is not
// taken for one: what an entry takes is estimated where the count rises, and all of them are taken off the host's
// bytes. A leak on the host beside it shows once the count rises more slowly than the steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/category.h"
#include "memory/budget/series_trend.h"

namespace tidemark::memory {

// At one step boundary, in bytes.
struct GrowthSample {
  CategoryBytes allocated{};       // live, by purpose
  int64_t reserved_bytes = 0;      // held on the device, caches included
  int64_t unattributed_bytes = 0;  // of the device: neither ours by the books, nor another process's, nor free
  int64_t host_bytes = 0;          // resident memory of the process outside the device
  // Entries of a cache on the host that is known to be bounded (compiled bodies). See Note [Declared caches].
  int64_t host_cache_entries = 0;
};

struct GrowthOptions {
  // What must have been added over the window before a rise counts. Books are exact; a device's and the system's
  // figures move by what drivers and the C library keep.
  int64_t least_allocated_rise_bytes = 4 << 10;
  int64_t least_device_rise_bytes = 1 << 20;
  int64_t least_host_rise_bytes = 2 << 20;
};

// One figure of the samples and what it does. `name` is the category, or "reserved", "unattributed", "host".
struct NamedTrend {
  std::string name;
  SeriesTrend trend;
};

struct GrowthVerdict {
  bool growing = false;
  // Of the figure that grows fastest; 0 and empty where stable. "reserved" is named only if nothing else grows: memory
  // that the allocator keeps and nobody holds.
  std::string category;
  int64_t bytes_per_step = 0;
  int64_t first_step = 0;  // index of the sample from which it shows
  double confidence = 0;   // 0 to 1; see SeriesTrend
  // Figures that rise without being called growing, and all that grow: for --json and for words.
  std::vector<NamedTrend> trends;
  int64_t steps = 0;
  // A straight rise from here on would have been found: of any category, and on the host.
  int64_t detectable_bytes_per_step = 0;
  int64_t detectable_host_bytes_per_step = 0;
};

GrowthVerdict judge_growth(std::span<const GrowthSample> samples, const GrowthOptions& options = {});

// "growing: kv_cache by 64.0 KiB a step since step 12 of 200 ..." or "stable over 200 steps: ...", some lines.
std::string describe(const GrowthVerdict& verdict);

}  // namespace tidemark::memory
