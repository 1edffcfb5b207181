// What pages of the host cost: microseconds a page of 2 MiB for each call, for both kinds of page file.
//   bazel build //device:page_file_bench && bazel-bin/device/page_file_bench
#include <benchmark/benchmark.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "base/error.h"
#include "device/page_file.h"

namespace tidemark {
namespace {

constexpr int64_t kPageBytes = int64_t{2} << 20;
constexpr int64_t kPages = 64;
constexpr int64_t kBytes = kPages * kPageBytes;
constexpr size_t kStride = 37;  // has no factor in common with kPages

template <class Body>
double microseconds(Body body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

// Addresses without access for all pages.
std::byte* addresses() {
  const size_t bytes = static_cast<size_t>(kBytes + kPageBytes);
  void* start = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  TM_CHECK(start != MAP_FAILED, "no addresses");
  const uintptr_t unit = static_cast<uintptr_t>(kPageBytes);
  return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(start) + unit - 1) / unit * unit);
}

void touch(std::byte* data) {
  for (int64_t at = 0; at < kBytes; at += 4096) data[at] = std::byte{1};
}

std::vector<PageId> scattered(const std::vector<PageId>& pages) {
  std::vector<PageId> order;
  for (size_t i = 0; i < pages.size(); ++i) order.push_back(pages[i * kStride % pages.size()]);
  return order;
}

void life_of_pages(benchmark::State& state, PageFileKind kind) {
  PageFile file(kPageBytes, kBytes, kind);
  std::byte* const data = addresses();
  std::vector<PageId> pages(kPages);
  double create = 0, map = 0, first_touch = 0, unmap = 0, map_scattered = 0, unmap_scattered = 0, destroy = 0;
  for (auto _ : state) {
    create += microseconds([&] { file.create(pages); });
    map += microseconds([&] { file.map(data, pages); });
    first_touch += microseconds([&] { touch(data); });
    unmap += microseconds([&] { file.unmap(data, kBytes); });
    const std::vector<PageId> order = scattered(pages);
    map_scattered += microseconds([&] { file.map(data, order); });
    touch(data);
    unmap_scattered += microseconds([&] {
      for (int64_t at = 0; at < kBytes; at += kPageBytes) file.unmap(data + at, kPageBytes);
    });
    destroy += microseconds([&] { file.destroy(pages); });
  }
  const auto report = [&](const char* name, double total) {
    state.counters[name] = total / static_cast<double>(state.iterations() * kPages);
  };
  report("create", create);
  report("map", map);
  report("first_touch", first_touch);
  report("unmap", unmap);
  report("map_scattered", map_scattered);
  report("unmap_scattered", unmap_scattered);
  report("destroy", destroy);
}

BENCHMARK_CAPTURE(life_of_pages, tmpfs, PageFileKind::tmpfs)->Iterations(10)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(life_of_pages, memfd, PageFileKind::memfd)->Iterations(10)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tidemark

BENCHMARK_MAIN();
