#include "memory/trace/trace.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace tidemark::memory {
namespace {

Buffer buffer(int64_t id, int64_t begin, int64_t end, int64_t bytes) {
  Buffer result;
  result.id = id;
  result.bytes = bytes;
  result.intervals = {{begin, end}};
  return result;
}

std::string refusal(const Trace& trace) {
  try {
    validate(trace);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    return error.what();
  }
  return "";
}

std::string refusal(const Buffer& buffer) { return refusal(Trace{"t", {buffer}}); }

TEST(Trace, EmptyTraceIsValid) {
  const Trace trace{"empty", {}};
  EXPECT_EQ(refusal(trace), "");
  EXPECT_EQ(end_step(trace), 0);
  EXPECT_EQ(max_live_bytes(trace), 0);
  EXPECT_TRUE(live_profile(trace).empty());
}

TEST(Trace, RefusesBadBytesAndNamesBufferAndValue) {
  EXPECT_EQ(refusal(buffer(7, 0, 1, 0)), "t: buffer 7: bytes is 0, must be > 0");
  EXPECT_EQ(refusal(buffer(7, 0, 1, -5)), "t: buffer 7: bytes is -5, must be > 0");
  EXPECT_EQ(refusal(buffer(7, 0, 1, (int64_t{1} << 62) + 1)),
            "t: buffer 7: bytes is 4611686018427387905, limit is 2^62");
  EXPECT_EQ(refusal(buffer(7, 0, 1, int64_t{1} << 62)), "");
}

TEST(Trace, RefusesSumsThatOverflow) {
  const Trace trace{"t", {buffer(1, 0, 1, int64_t{1} << 62), buffer(2, 5, 6, 1)}};
  EXPECT_EQ(refusal(trace), "t: buffer 2: the bytes of all buffers up to here add up to more than 2^62");
}

TEST(Trace, RefusesBadLifetimes) {
  EXPECT_EQ(refusal(buffer(1, 3, 3, 8)), "t: buffer 1: lifetime [3, 3) is empty");
  EXPECT_EQ(refusal(buffer(1, 4, 3, 8)), "t: buffer 1: lifetime [4, 3) is empty");
  EXPECT_EQ(refusal(buffer(1, 4, INT64_MAX, 8)), "t: buffer 1: lifetime [4, 9223372036854775807) is beyond 2^62");
  Buffer cut = buffer(1, 0, 4, 8);
  cut.intervals.push_back({3, 6});
  EXPECT_EQ(refusal(cut), "t: buffer 1: lifetime [3, 6) is not after [0, 4)");
  cut.intervals.clear();
  EXPECT_EQ(refusal(cut), "t: buffer 1: has no lifetime");
}

TEST(Trace, RefusesBadAlignmentAndFixedOffset) {
  Buffer b = buffer(1, 0, 4, 8);
  b.alignment = 24;
  EXPECT_EQ(refusal(b), "t: buffer 1: alignment is 24, must be a power of two up to 2^62");
  b.alignment = 64;
  b.fixed_offset = 96;
  EXPECT_EQ(refusal(b), "t: buffer 1: fixed offset 96 is no multiple of its alignment 64");
  b.fixed_offset = -64;
  EXPECT_EQ(refusal(b), "t: buffer 1: fixed offset -64 is negative, must be >= 0");
}

TEST(Trace, RefusesDuplicateIds) {
  EXPECT_EQ(refusal(Trace{"t", {buffer(3, 0, 1, 8), buffer(3, 1, 2, 8)}}), "t: buffer 3: id appears twice");
}

TEST(Trace, RefusesFixedBuffersThatOverlapInTimeAndBytes) {
  Trace trace{"t", {buffer(1, 0, 4, 8), buffer(2, 3, 6, 8)}};
  trace.buffers[0].fixed_offset = 0;
  trace.buffers[1].fixed_offset = 7;
  EXPECT_EQ(refusal(trace), "t: buffer 2: fixed offset 7 overlaps buffer 1 at fixed offset 0, live at the same step");
  trace.buffers[1].fixed_offset = 8;
  EXPECT_EQ(refusal(trace), "");
  trace.buffers[1].fixed_offset = 7;
  trace.buffers[1].intervals = {{4, 6}};
  EXPECT_EQ(refusal(trace), "");
}

TEST(Trace, FixedMembersOfAGroupMayCoincideButNotOverlap) {
  Trace trace{"t", {buffer(1, 0, 4, 8), buffer(2, 3, 6, 16)}};
  for (Buffer& b : trace.buffers) {
    b.alias_group = 1;
    b.fixed_offset = 32;
  }
  EXPECT_EQ(refusal(trace), "");
  trace.buffers[1].fixed_offset = 20;
  EXPECT_NE(refusal(trace), "");
  // A third buffer below the larger of two coinciding members is found too.
  trace.buffers[1].fixed_offset = 32;
  trace.buffers.push_back(buffer(3, 3, 5, 8));
  trace.buffers[2].fixed_offset = 44;
  EXPECT_EQ(refusal(trace), "t: buffer 3: fixed offset 44 overlaps buffer 2 at fixed offset 32, live at the same step");
}

TEST(Trace, ProfileCountsHalfOpenLifetimesAndGaps) {
  Trace trace{"t", {buffer(1, 0, 4, 10), buffer(2, 4, 6, 20), buffer(3, 2, 5, 5)}};
  trace.buffers[2].intervals = {{2, 3}, {4, 5}};
  const std::vector<ProfilePoint> profile = live_profile(trace);
  std::vector<std::pair<int64_t, int64_t>> points;
  for (const ProfilePoint& p : profile) points.emplace_back(p.step, p.bytes);
  const std::vector<std::pair<int64_t, int64_t>> expected = {{0, 10}, {2, 15}, {3, 10}, {4, 25}, {5, 20}, {6, 0}};
  EXPECT_EQ(points, expected);
  EXPECT_EQ(max_live_bytes(trace), 25);
  EXPECT_EQ(end_step(trace), 6);
}

TEST(Trace, ProfileCountsTheLargestMemberOfAGroup) {
  Trace trace{"t", {buffer(1, 0, 4, 10), buffer(2, 2, 6, 30), buffer(3, 5, 8, 20)}};
  for (Buffer& b : trace.buffers) b.alias_group = 9;
  EXPECT_EQ(max_live_bytes(trace), 30);
  trace.buffers[0].alias_group.reset();
  EXPECT_EQ(max_live_bytes(trace), 40);
}

}  // namespace
}  // namespace tidemark::memory
