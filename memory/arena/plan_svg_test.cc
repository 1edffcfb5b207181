#include "memory/arena/plan_svg.h"

#include <gtest/gtest.h>

#include <sstream>

namespace tidemark::memory {
namespace {

size_t count(const std::string& text, const std::string& part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Example {
  Trace trace{"folder/net <a&b>", {}};
  OffsetPlan plan;
};

// A weight for all ten steps at the bottom, an activation with a gap above it.
Example example() {
  Example e;
  Buffer weight{1, 2048, 64, {{0, 10}}};
  weight.category = Category::weights;
  Buffer activation{2, 1024, 64, {{1, 3}, {5, 8}}};
  e.trace.buffers = {weight, activation};
  e.plan.offsets = {0, 2048};
  e.plan.peak_bytes = e.plan.lower_bound_bytes = 3072;
  e.plan.proven_optimal = true;
  return e;
}

std::string drawn(const Example& e) {
  std::ostringstream out;
  write_plan_svg(e.trace, e.plan, out);
  return out.str();
}

TEST(PlanSvg, DrawsOneRectanglePerInterval) {
  const std::string svg = drawn(example());
  EXPECT_EQ(count(svg, "<title>"), 3u);
  // 910 pixels for ten steps, 610 for 3072 bytes: the weight is all wide and two thirds high.
  EXPECT_NE(
      svg.find("<rect x=\"90\" y=\"243.3\" width=\"910\" height=\"406.7\" fill=\"#4477aa\"><title>buffer 1, weights"),
      std::string::npos);
  EXPECT_NE(svg.find("<rect x=\"181\" y=\"40\" width=\"182\" height=\"203.3\" fill=\"#ee6677\">"), std::string::npos);
  EXPECT_NE(svg.find("<rect x=\"545\" y=\"40\" width=\"273\" height=\"203.3\" fill=\"#ee6677\">"), std::string::npos);
}

TEST(PlanSvg, HasTitleAxesAndLegend) {
  const std::string svg = drawn(example());
  EXPECT_NE(svg.find(">net &lt;a&amp;b&gt;: peak 3.0 KiB, lower bound 3.0 KiB, optimal"), std::string::npos);
  EXPECT_NE(svg.find(">2.5 KiB</text>"), std::string::npos);
  EXPECT_NE(svg.find(">10</text>"), std::string::npos);
  EXPECT_NE(svg.find(">weights 2.0 KiB</text>"), std::string::npos);
  EXPECT_NE(svg.find(">activations 1.0 KiB</text>"), std::string::npos);
  EXPECT_EQ(svg.find("optimizer"), std::string::npos);
}

TEST(PlanSvg, EveryElementIsClosed) {
  const std::string svg = drawn(example());
  EXPECT_EQ(count(svg, "<svg "), count(svg, "</svg>"));
  EXPECT_EQ(count(svg, "<text "), count(svg, "</text>"));
  EXPECT_EQ(count(svg, "<g "), count(svg, "</g>"));
  EXPECT_EQ(count(svg, "<rect "), count(svg, "</rect>") + count(svg, "\"/>") - count(svg, "<path "));
}

TEST(PlanSvg, LeavesOutWhatNobodyCouldSee) {
  Example e = example();
  Buffer speck{3, 1, 1, {{0, 1}}};
  e.trace.buffers[0].intervals[0].end = 1'000'000;
  e.trace.buffers.push_back(speck);
  e.plan.offsets.push_back(4000);
  e.plan.peak_bytes = 1 << 30;
  EXPECT_EQ(drawn(e).find("buffer 3"), std::string::npos);
}

TEST(PlanSvg, EmptyTraceIsAnEmptyPicture) {
  const std::string svg = drawn({Trace{"empty", {}}, {}});
  EXPECT_EQ(count(svg, "<title>"), 0u);
  EXPECT_EQ(count(svg, "</svg>"), 1u);
}

}  // namespace
}  // namespace tidemark::memory
