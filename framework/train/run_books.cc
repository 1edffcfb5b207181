#include "framework/train/run_books.h"

#include <algorithm>

namespace tidemark::train {
namespace {

CategoryBytes live_in_arena(const runtime::Executor& executor) {
  const runtime::Position at = executor.position();
  const compile::Body& body = executor.program().bodies[at.body];
  return body.live[std::min<size_t>(at.instruction, body.live.size() - 1)];
}

// While a body runs in one block, what lives in the block says more than the block.
memory::MemoryBooks allocator_books(const TrainingRun& run) {
  memory::MemoryBooks books = memory::books_of(run.allocator()->stats());
  if (const CategoryBytes live = run.dynamic()->live_bytes(); memory::sum(live) > 0) books.allocated = live;
  return books;
}

memory::MemoryBooks books_of_run(const TrainingRun& run, const CategoryBytes& live, int64_t arena_bytes) {
  memory::MemoryBooks books = memory::books_of_pages(live, arena_bytes);
  const compile::Program& program = run.executor().program();
  books.largest_free_block_bytes =
      std::min(run.arena().capacity_bytes(), program.arena_bytes) - program.run_segment_bytes;
  if (run.allocator() != nullptr) books += allocator_books(run);
  return books;
}

}  // namespace

memory::MemoryBooks read_books(const TrainingRun& run, int64_t arena_bytes) {
  return books_of_run(run, live_in_arena(run.executor()), arena_bytes);
}

memory::MemoryBooks read_books_between_steps(const TrainingRun& run) {
  CategoryBytes live{};
  for (const compile::Tensor& tensor : run.executor().program().persistent)
    live[static_cast<size_t>(tensor.category)] += tensor.bytes();
  return books_of_run(run, live, run.arena().committed_bytes());
}

}  // namespace tidemark::train
