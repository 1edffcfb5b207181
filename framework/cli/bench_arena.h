// `tidemark bench arena`: the offset planners on traces.
#pragma once

namespace tidemark::cli {

// argv[0] is "arena". Exit code 0, also where a trace does not fit: the report says so; throws Error for bad input.
int run_bench_arena(int argc, char** argv);

}  // namespace tidemark::cli
