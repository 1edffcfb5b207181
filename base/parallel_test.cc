#include "base/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <set>
#include <thread>
#include <vector>

namespace {
std::atomic<int64_t> heap_calls{0};
}  // namespace

void* operator new(size_t bytes) {
  heap_calls.fetch_add(1);
  if (void* p = std::malloc(bytes)) return p;
  throw std::bad_alloc();
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }

namespace tidemark {
namespace {

TEST(PartBounds, PartsCoverTheRangeOnceAndAreEven) {
  for (const int64_t n : {0, 1, 2, 7, 16, 1000}) {
    for (const int parts : {1, 2, 3, 8}) {
      for (const int64_t grain : {1, 4, 16}) {
        int64_t at = 0, smallest = n, largest = 0;
        for (int p = 0; p < parts; ++p) {
          const PartBounds bounds = part_bounds(n, parts, p, grain);
          EXPECT_EQ(bounds.begin, at);
          EXPECT_TRUE(bounds.begin % grain == 0 || bounds.begin == n);
          at = bounds.end;
          smallest = std::min(smallest, bounds.end - bounds.begin);
          largest = std::max(largest, bounds.end - bounds.begin);
        }
        EXPECT_EQ(at, n);
        EXPECT_LT(largest - smallest, 2 * grain);
      }
    }
  }
}

TEST(ParallelFor, EveryIndexOnceAndPartsAsStated) {
  for (const int threads : {1, 2, 3, 5}) {
    std::vector<int> hits(100);
    std::vector<PartBounds> seen(threads);
    parallel_for(threads, 100, [&](int64_t begin, int64_t end, int part) {
      seen[part] = {begin, end};
      for (int64_t i = begin; i < end; ++i) ++hits[i];
    });
    EXPECT_EQ(hits, std::vector<int>(100, 1));
    for (int p = 0; p < threads; ++p) {
      EXPECT_EQ(seen[p].begin, part_bounds(100, threads, p).begin);
      EXPECT_EQ(seen[p].end, part_bounds(100, threads, p).end);
    }
  }
}

TEST(ParallelFor, UsesSeveralThreads) {
  std::vector<std::thread::id> ids(2);
  parallel_for(2, 2, [&](int64_t, int64_t, int part) { ids[part] = std::this_thread::get_id(); });
  EXPECT_NE(ids[0], ids[1]);
}

TEST(ParallelFor, SkipsEmptyPartsAndRanges) {
  std::atomic<int> calls{0};
  const auto count = [&](int64_t, int64_t, int) { ++calls; };
  parallel_for(8, 0, count);
  EXPECT_EQ(calls, 0);
  parallel_for(8, 3, count);
  EXPECT_EQ(calls, 3);
  parallel_for(8, 3, count, 4);
  EXPECT_EQ(calls, 4);
}

TEST(ParallelFor, MakesNoHeapAllocation) {
  std::vector<double> sums(2);
  const auto body = [&](int64_t begin, int64_t end, int part) { sums[part] += static_cast<double>(end - begin); };
  parallel_for(2, 1000, body);  // the runtime starts its threads
  const int64_t before = heap_calls;
  for (int i = 0; i < 100; ++i) parallel_for(2, 1000, body);
  EXPECT_EQ(heap_calls, before);
  EXPECT_EQ(sums[0] + sums[1], 101 * 1000);
}

}  // namespace
}  // namespace tidemark
