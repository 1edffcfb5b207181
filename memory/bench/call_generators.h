// Generated calls of an allocator: what programs do that cannot be planned. The same for the same seed on every
// machine.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "memory/call_trace/call_trace.h"

namespace tidemark::memory {

struct CallGeneratorOptions {
  uint64_t seed = 1;
  int64_t calls = 20'000;                   // about
  int64_t live_bytes = int64_t{256} << 20;  // about the most that is live at once
};

// A workload and where it comes from in the field.
struct CallGenerator {
  std::string_view name;
  std::string_view what;
  CallTrace (*generate)(const CallGeneratorOptions& options);
};

// images       forward and backward over feature maps of images whose height and width change every step
// lengths      recurrent steps over batches whose number of tokens changes every step
// caches       many answers at once whose key and value caches grow by copying into larger blocks
// models       models loaded in turn, each with weights and a working set of its own
// doubling     blocks freed, then blocks of twice the size asked for, over and over
// adversarial  sizes from bytes to a quarter of the memory, freed in an order that leaves holes
// small        many blocks of a few bytes to a few KiB with lifetimes of all lengths
const std::vector<CallGenerator>& call_generators();

// nullptr if there is none of that name.
const CallGenerator* find_call_generator(std::string_view name);

}  // namespace tidemark::memory
