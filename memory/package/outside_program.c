/* A program of somebody else in C, on the two functions that other frameworks take, and the figures beside them. */
#include <memory/c_api/tidemark_memory.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  if (tidemark_use_device(0, "cpu") != 0 || tidemark_set_limit(0, 32 << 20) != 0) {
    fprintf(stderr, "%s\n", tidemark_last_error());
    return 1;
  }
  void* block = tidemark_alloc(5000000, 0, NULL);
  if (!block) {
    fprintf(stderr, "%s\n", tidemark_last_error());
    return 1;
  }
  memset(block, 1, 5000000);
  void* too_large = tidemark_alloc((ptrdiff_t)64 << 20, 0, NULL);
  printf("too large: %s\n", too_large ? "given" : tidemark_last_error());
  tidemark_memory_stats stats;
  if (tidemark_get_stats(0, &stats) != 0) return 1;
  printf("requested %lld refused %lld\n", (long long)stats.requested, (long long)stats.out_of_memory);
  tidemark_free(block, 5000000, 0, NULL);
  printf("given back %lld\n", (long long)tidemark_empty_cache(0));
  return 0;
}
