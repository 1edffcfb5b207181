// All memory figures of a run at one moment: what the books say, what the device says, and what is left over.
//
//   total = allocated + cached + slack + unused + free + foreign + unattributed
// where `unused` is the part of the held pages that no live block is in: free ranges of an arena.
#pragma once

#include <cstdint>

#include "base/category.h"
#include "device/device_memory.h"
#include "memory/allocator/allocator.h"
#include "memory/budget/growth_verdict.h"

namespace tidemark::memory {

// What the parts of a program say they hold on a device: arenas, allocators, caches. Add up those of all parts.
struct MemoryBooks {
  CategoryBytes allocated{};
  int64_t reserved_bytes = 0;  // pages: allocated, cached, slack, and what is unused
  int64_t cached_bytes = 0;    // pending ones too
  int64_t slack_bytes = 0;
  int64_t largest_free_block_bytes = 0;
  int64_t retries = 0;
  int64_t out_of_memory = 0;

  MemoryBooks& operator+=(const MemoryBooks& other);
};

MemoryBooks books_of(const AllocatorStats& stats);
// Of an arena, or of anything else that holds whole pages.
MemoryBooks books_of_pages(const CategoryBytes& live, int64_t reserved_bytes);

int64_t sum(const CategoryBytes& bytes);

struct MemoryFigures {
  MemoryBooks books;
  DeviceKind kind = DeviceKind::cpu;
  DeviceUse device;
  int64_t alloc_calls = 0;
  int64_t unbooked_bytes = 0;      // held by this process but in nobody's books
  int64_t unattributed_bytes = 0;  // those, and what neither anybody is known to use nor is free
  // Memory of this process outside the device: anonymous pages, resident or swapped, that are not the device's.
  int64_t host_bytes = 0;
};

// Slow on the host (reads /proc): milliseconds. Throws Error(io).
MemoryFigures read_figures(const DeviceMemory& device, const MemoryBooks& books);
// The same with the device's use as it was told already.
MemoryFigures read_figures(const DeviceMemory& device, const MemoryBooks& books, const DeviceUse& use);

// What the growth verdict looks at. On the host, where the kernel and caches of files have what nobody is known to use,
// the unbooked bytes alone.
GrowthSample growth_sample(const MemoryFigures& figures);

}  // namespace tidemark::memory
