// What a training run says it holds on its device.
#pragma once

#include "framework/train/training_run.h"
#include "memory/budget/memory_figures.h"

namespace tidemark::train {

// From any thread: the arena with its live bytes by category where the executor stands, and the allocator of packed
// data. `arena_bytes`: pages of the arena, which change on the training thread.
memory::MemoryBooks read_books(const TrainingRun& run, int64_t arena_bytes);

// On the training thread, between two steps: of the arena, what lives through the whole run.
memory::MemoryBooks read_books_between_steps(const TrainingRun& run);

}  // namespace tidemark::train
