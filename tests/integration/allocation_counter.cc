#include "tests/integration/allocation_counter.h"

#include <malloc.h>

#include <cerrno>
#include <cstddef>
#include <new>

extern "C" const char __executable_start, etext;  // of the linker

namespace {

// Plain thread-locals of the executable itself: reading them allocates nothing.
thread_local bool counting = false;
thread_local tidemark::tests::Allocations counted;

void count(const void* caller) {
  if (!counting) return;
  ++counted.all;
  if (caller >= &__executable_start && caller < &etext) ++counted.from_program;
}

}  // namespace

extern "C" {

void* __libc_malloc(size_t bytes);
void* __libc_calloc(size_t count, size_t bytes);
void* __libc_realloc(void* old, size_t bytes);
void* __libc_memalign(size_t alignment, size_t bytes);

void* malloc(size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_malloc(bytes);
}

void* calloc(size_t items, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_calloc(items, bytes);
}

void* realloc(void* old, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_realloc(old, bytes);
}

void* memalign(size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}

void* aligned_alloc(size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  return __libc_memalign(alignment, bytes);
}

int posix_memalign(void** out, size_t alignment, size_t bytes) {
  count(__builtin_return_address(0));
  *out = __libc_memalign(alignment, bytes);
  return *out == nullptr ? ENOMEM : 0;
}
}

// libstdc++'s own operator new calls malloc too, but then the caller is libstdc++ and not who wanted the bytes.
void* operator new(size_t bytes) {
  count(__builtin_return_address(0));
  void* memory = __libc_malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void* operator new(size_t bytes, std::align_val_t alignment) {
  count(__builtin_return_address(0));
  void* memory = __libc_memalign(static_cast<size_t>(alignment), bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

namespace tidemark::tests {

AllocationCounter::AllocationCounter() {
  counted = {};
  counting = true;
}

AllocationCounter::~AllocationCounter() { counting = false; }

Allocations counted_allocations() { return counted; }

}  // namespace tidemark::tests
