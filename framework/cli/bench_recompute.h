// `tidemark bench recompute`: the recompute planners on graphs.
#pragma once

namespace tidemark::cli {

// argv[0] is "recompute". Exit code 0, also where a budget is out of reach: the report says so; throws Error for bad
// input.
int run_bench_recompute(int argc, char** argv);

}  // namespace tidemark::cli
