// What memory looks like at step boundaries where nothing leaks: caches, pools, warm-ups, epochs, noise.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <random>
#include <string>
#include <vector>

namespace tidemark::memory {

using Random = std::mt19937_64;

double uniform(Random& random, double low, double high);

struct CachingWorkload {
  std::string name;
  // Bytes at `steps` step boundaries.
  std::function<std::vector<double>(Random& random, int64_t steps)> generate;
  // A leak on top is not expected to show within 200 steps: noise or a cache that still fills is as large.
  bool hides_leaks = false;
};

void PrintTo(const CachingWorkload& workload, std::ostream* out);

// At least fifty. None may be called growth, at any length from 200 steps on.
std::vector<CachingWorkload> caching_workloads();

}  // namespace tidemark::memory
