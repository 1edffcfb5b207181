#include "ops/batch_norm/group_chunks.h"

#include <gtest/gtest.h>

namespace tidemark::ops {
namespace {

// Chunks lie side by side, none crosses from one group to the next, and together they are all rows.
void check_cover(int64_t samples, int64_t spatial, int64_t channels, int64_t group) {
  const GroupChunks chunks(samples, spatial, channels, group);
  int64_t next_row = 0;
  for (int64_t i = 0; i < chunks.chunks(); ++i) {
    const Chunk chunk = chunks.chunk(i);
    EXPECT_EQ(chunk.first_row, next_row);
    EXPECT_GE(chunk.rows, 1);
    EXPECT_LE(chunk.rows, GroupChunks::chunk_rows(channels));
    EXPECT_EQ(chunk.first_row / (group * spatial), chunk.group);
    EXPECT_EQ((chunk.first_row + chunk.rows - 1) / (group * spatial), chunk.group);
    EXPECT_GE(i, chunks.first_chunk(chunk.group));
    EXPECT_LT(i, chunks.first_chunk(chunk.group) + chunks.chunks_of_group(chunk.group));
    next_row += chunk.rows;
  }
  EXPECT_EQ(next_row, samples * spatial);
  EXPECT_EQ(chunks.groups(), (samples + group - 1) / group);
}

TEST(GroupChunks, CoverEveryRowOnce) {
  for (int64_t samples : {1, 2, 7, 32, 33}) {
    for (int64_t spatial : {1, 49, 784}) {
      for (int64_t channels : {1, 16, 64, 9000}) {
        for (int64_t group : {1, 8, 32, 100}) check_cover(samples, spatial, channels, group);
      }
    }
  }
}

TEST(GroupChunks, SizeHangsOnChannelsAlone) {
  EXPECT_EQ(GroupChunks::chunk_rows(1), 512);
  EXPECT_EQ(GroupChunks::chunk_rows(64), 128);
  EXPECT_EQ(GroupChunks::chunk_rows(9000), 16);
}

}  // namespace
}  // namespace tidemark::ops
