#include "memory/trace/trace_csv.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/error.h"
#include "memory/trace/random_trace.h"

namespace tidemark::memory {
namespace {

Trace read(const std::string& text) {
  std::istringstream in(text);
  return read_csv(in, "f.csv");
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::data);
    return error.what();
  }
  return "";
}

std::string written(const Trace& trace) {
  std::ostringstream out;
  write_csv(trace, out);
  return out.str();
}

TEST(TraceCsv, ReadsThePlainFormInAnyColumnOrder) {
  const Trace trace = read("size,id,upper,lower\r\n100,1,5,2\r\n\r\n7, 2 ,9,0\r\n");
  ASSERT_EQ(trace.buffers.size(), 2u);
  EXPECT_EQ(trace.buffers[0].bytes, 100);
  EXPECT_EQ(trace.buffers[0].intervals, (std::vector<Interval>{{2, 5}}));
  EXPECT_EQ(trace.buffers[1].id, 2);
  EXPECT_EQ(trace.buffers[1].alignment, 1);
}

TEST(TraceCsv, ReadsTheFullForm) {
  const Trace trace = read(
      "id,lower,upper,size,alignment,gaps,category,scope,offset,alias_group\n"
      "1,0,20,64,64,2-5 7-9,weights,run,128,3\n"
      "2,0,20,64,,,,,,\n");
  const Buffer& full = trace.buffers[0];
  EXPECT_EQ(full.alignment, 64);
  EXPECT_EQ(full.intervals, (std::vector<Interval>{{0, 2}, {5, 7}, {9, 20}}));
  EXPECT_EQ(full.category, Category::weights);
  EXPECT_EQ(full.scope, Scope::run);
  EXPECT_EQ(full.fixed_offset, 128);
  EXPECT_EQ(full.alias_group, 3);
  EXPECT_EQ(trace.buffers[1].fixed_offset, std::nullopt);
}

TEST(TraceCsv, NamesLineColumnAndText) {
  EXPECT_EQ(refusal(""), "f.csv: is empty; the first line must be id,lower,upper,size");
  EXPECT_EQ(refusal("id,lower,upper\n"), "f.csv:1: column 'size' is missing");
  EXPECT_EQ(refusal("id,lower,upper,size,size\n"), "f.csv:1: column 'size' appears twice");
  EXPECT_EQ(refusal("id,lower,upper,size,colour\n"),
            "f.csv:1: unknown column 'colour'; known are "
            "id,lower,upper,size,alignment,gaps,category,scope,offset,alias_group");
  const std::string head = "id,lower,upper,size\n1,0,5,10\n";
  EXPECT_EQ(refusal(head + "2,0,5\n"), "f.csv:3: has 3 cells, the header has 4");
  EXPECT_EQ(refusal(head + "2,0,5,1x\n"), "f.csv:3: column 'size': '1x' is no whole number");
  EXPECT_EQ(refusal(head + "2,0,5,-4\n"), "f.csv:3: column 'size': '-4' must be > 0");
  EXPECT_EQ(refusal(head + "2,0,5,99999999999999999999\n"),
            "f.csv:3: column 'size': '99999999999999999999' does not fit into 64 bits");
  EXPECT_EQ(refusal(head + "2,5,5,8\n"), "f.csv:3: column 'upper': '5' must be greater than lower 5");
  EXPECT_EQ(refusal(head + "\n1,0,5,8\n"), "f.csv:4: column 'id': '1' appears twice, first in line 2");
  EXPECT_EQ(refusal(head + "2,0,5,9223372036854775807\n"),
            "f.csv:3: buffer 2: bytes is 9223372036854775807, limit is 2^62");
}

TEST(TraceCsv, NamesBadOptionalCells) {
  const auto row = [](const std::string& column, const std::string& cell) {
    return refusal("id,lower,upper,size," + column + "\n1,0,9,8," + cell + "\n");
  };
  EXPECT_EQ(row("alignment", "3"), "f.csv:2: buffer 1: alignment is 3, must be a power of two up to 2^62");
  EXPECT_EQ(row("category", "food"), "f.csv:2: column 'category': 'food' is no category");
  EXPECT_EQ(row("scope", "day"), "f.csv:2: column 'scope': 'day' is no scope (run, step, micro_batch)");
  EXPECT_EQ(row("gaps", "3"), "f.csv:2: column 'gaps': '3' is no range BEGIN-END");
  EXPECT_EQ(row("gaps", "3-"), "f.csv:2: column 'gaps': '3-' is no range BEGIN-END");
  for (const char* bad : {"0-3", "3-9", "5-4", "3-5 4-6", "3-5 5-6"}) {
    EXPECT_EQ(row("gaps", bad),
              "f.csv:2: column 'gaps': '" + std::string(bad) + "' must be sorted, disjoint ranges inside the lifetime");
  }
}

TEST(TraceCsv, RefusesFixedOffsetsThatClash) {
  const std::string text = "id,lower,upper,size,offset\n1,0,9,8,0\n2,3,4,8,4\n";
  EXPECT_EQ(refusal(text),
            "f.csv: buffer 2: fixed offset 4 overlaps buffer 1 at fixed offset 0, live at the same step");
}

TEST(TraceCsv, WritesThePlainFormWhereItIsEnough) {
  const std::string text = "id,lower,upper,size\n4,-2,7,12\n";
  EXPECT_EQ(written(read(text)), text);
}

TEST(TraceCsv, RoundTripsEveryField) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Trace trace = random_trace({seed, 30, 40, 1000, 40, 40, 20, 30});
    EXPECT_EQ(read(written(trace)).buffers, trace.buffers);
  }
  Trace touching{"t", {Buffer{}}};
  touching.buffers[0].bytes = 5;
  touching.buffers[0].intervals = {{-4, -2}, {-2, 3}};
  EXPECT_EQ(read(written(touching)).buffers, touching.buffers);
}

TEST(TraceCsv, MissingFileIsAnIoErrorWithItsPath) {
  try {
    read_csv_file("no/such.csv");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_STREQ(error.what(), "cannot open trace 'no/such.csv'");
  }
}

TEST(TraceCsv, FolderIsAnIoError) {
  try {
    read_csv_file(".");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io);
    EXPECT_STREQ(error.what(), ".: cannot be read");
  }
}

TEST(TraceCsv, ByteOrderMarkIsSkipped) {
  std::istringstream in("\xEF\xBB\xBFid,lower,upper,size\n0,0,4,10\n");
  EXPECT_EQ(read_csv(in, "f.csv").buffers.size(), 1U);
}

}  // namespace
}  // namespace tidemark::memory
