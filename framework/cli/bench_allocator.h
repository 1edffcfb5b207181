// `tidemark bench allocator`
#pragma once

namespace tidemark::cli {

int run_bench_allocator(int argc, char** argv);

}  // namespace tidemark::cli
