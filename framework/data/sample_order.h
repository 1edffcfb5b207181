// The order of samples in an epoch: a permutation that hangs on seed, epoch and size alone.
#pragma once

#include <cstdint>
#include <span>

namespace tidemark::data {

// Fills `order` with a permutation of 0 .. order.size() - 1, drawn with Philox keyed by (seed, epoch). No allocation.
void shuffle_order(uint64_t seed, int64_t epoch, std::span<uint32_t> order);

}  // namespace tidemark::data
