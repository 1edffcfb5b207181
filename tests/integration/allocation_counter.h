// Counts allocations of this thread on the host. Linking this library replaces the process's malloc, calloc, realloc,
// aligned allocation and operator new; all pass on to glibc.
#pragma once

#include <cstdint>

namespace tidemark::tests {

struct Allocations {
  int64_t all = 0;
  int64_t from_program = 0;  // asked for by the executable itself, not by a shared library
};

// Counts while it is there; one at a time in a thread.
class AllocationCounter {
 public:
  AllocationCounter();
  ~AllocationCounter();
  AllocationCounter(const AllocationCounter&) = delete;
  AllocationCounter& operator=(const AllocationCounter&) = delete;
};

// Of this thread, since its last counter was made.
Allocations counted_allocations();

}  // namespace tidemark::tests
