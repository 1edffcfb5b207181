// How the rows of a batch are cut for batch normalization.
//
// Note [Chunks of a group]
// A tensor [B,..,C] is a matrix of B * spatial rows. Each group of samples is cut into chunks of chunk_rows(C) rows,
// counted from the start of the group. A chunk is summed in float by one thread, chunks are combined in double and in
// order. So a group gives the same bits alone or among others, whatever the micro-batch and the number of threads.
// A chunk fits the first or second cache level, so that mean and squared deviations of a chunk (two passes, no
// cancellation) cost one read of memory. Combining: Chan, Golub and LeVeque 1979.
#pragma once

#include <algorithm>
#include <cstdint>

namespace tidemark::ops {

struct Chunk {
  int64_t group = 0;
  int64_t first_row = 0;  // in the whole tensor
  int64_t rows = 0;
};

class GroupChunks {
 public:
  GroupChunks(int64_t samples, int64_t spatial, int64_t channels, int64_t group)
      : samples_(samples),
        group_(std::min(group, std::max<int64_t>(samples, 1))),
        spatial_(spatial),
        chunk_rows_(chunk_rows(channels)) {}

  // About 32 KiB of floats.
  static int64_t chunk_rows(int64_t channels) { return std::clamp<int64_t>(8192 / channels, 16, 512); }

  int64_t groups() const { return (samples_ + group_ - 1) / group_; }
  int64_t rows_of_group(int64_t g) const { return std::min(group_, samples_ - g * group_) * spatial_; }
  int64_t chunks_of_group(int64_t g) const { return (rows_of_group(g) + chunk_rows_ - 1) / chunk_rows_; }
  int64_t first_chunk(int64_t g) const { return g * chunks_of_group(0); }
  int64_t chunks() const { return groups() == 0 ? 0 : first_chunk(groups() - 1) + chunks_of_group(groups() - 1); }

  Chunk chunk(int64_t index) const {
    const int64_t g = index / chunks_of_group(0), first = (index - first_chunk(g)) * chunk_rows_;
    return {g, g * group_ * spatial_ + first, std::min(chunk_rows_, rows_of_group(g) - first)};
  }

 private:
  int64_t samples_, group_, spatial_, chunk_rows_;
};

}  // namespace tidemark::ops
