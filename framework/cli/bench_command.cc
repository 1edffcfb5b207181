#include <cstdio>
#include <cstring>

#include "framework/cli/bench_allocator.h"
#include "framework/cli/bench_arena.h"
#include "framework/cli/bench_recompute.h"
#include "framework/cli/commands.h"

namespace tidemark::cli {
namespace {

void print_usage(std::FILE* out) {
  std::fputs(
      "usage: tidemark bench WHAT [OPTIONS]\n\n"
      "  allocator  the caching allocator on recorded and generated calls\n"
      "  arena      the offset planners on traces\n"
      "  recompute  the recompute planners on graphs\n",
      out);
}

}  // namespace

int run_bench(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "";
  if (std::strcmp(what, "allocator") == 0) return run_bench_allocator(argc - 1, argv + 1);
  if (std::strcmp(what, "arena") == 0) return run_bench_arena(argc - 1, argv + 1);
  if (std::strcmp(what, "recompute") == 0) return run_bench_recompute(argc - 1, argv + 1);
  const bool asked = std::strcmp(what, "--help") == 0 || std::strcmp(what, "-h") == 0;
  if (argc > 1 && !asked) std::fprintf(stderr, "tidemark bench: unknown '%s'\n\n", what);
  print_usage(asked ? stdout : stderr);
  return asked ? 0 : 2;
}

}  // namespace tidemark::cli
