// What a training run says it holds on its device.
#pragma once

#include "framework/train/training_run.h"
#include "memory/budget/memory_figures.h"

namespace tidemark::train {

// The arena with its live bytes by category where the executor stands, and the allocator of packed data. `arena_bytes`:
// pages of the arena; they change on the training thread, the rest can be read from any thread.
memory::MemoryBooks read_books(const TrainingRun& run, int64_t arena_bytes);

// The same on the training thread.
inline memory::MemoryBooks read_books(const TrainingRun& run) { return read_books(run, run.arena().committed_bytes()); }

}  // namespace tidemark::train
