// The optimal order of recomputation for a chain of blocks, by dynamic programming over block ranges and memory:
// Beaumont, Eyraud-Dubois, Herrmann, Joly, Shilova: Optimal checkpointing for heterogeneous chains (2019).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tidemark::memory {

// A block of the chain: run forward once, needed again (all that it saves) when its backward part runs, last block
// first.
struct ChainBlock {
  double cost = 0;    // of running it forward
  int32_t input = 0;  // memory slots of what it reads from the block before
  int32_t saved = 0;  // slots of what its backward part reads, its output included
};

// Blocks [first, last] run forward at a point in time: in the forward pass (time 0), or just before the backward part
// of block time - 1.
struct ChainRun {
  int32_t first = 0;
  int32_t last = 0;
  int32_t time = 0;
};

class ChainDp {
 public:
  ChainDp(std::vector<ChainBlock> blocks, int32_t slots);

  // Extra forward cost with so many slots; infinite if they are too few.
  double extra_cost(int32_t slots) const;
  // The runs beyond the forward pass.
  std::vector<ChainRun> runs(int32_t slots) const;

 private:
  struct Choice {
    float cost = 0;
    int16_t split = 0;  // 0: save all of the first block; k: keep only the input of block first + k; -1: too few slots
  };
  std::size_t index(int32_t first, int32_t last, int32_t slots) const;
  Choice choose(int32_t first, int32_t last, int32_t slots) const;
  void collect(int32_t first, int32_t last, int32_t slots, int32_t time, std::vector<ChainRun>& out) const;

  std::vector<ChainBlock> blocks_;
  int32_t slots_;
  std::vector<double> cost_before_;  // sums of block costs
  std::vector<Choice> table_;
};

}  // namespace tidemark::memory
