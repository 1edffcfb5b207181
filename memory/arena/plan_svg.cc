#include "memory/arena/plan_svg.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ostream>
#include <string>

#include "base/bytes.h"

namespace tidemark::memory {
namespace {

constexpr int kLeft = 90, kRight = 200, kTop = 40, kBottom = 50;
constexpr int kTicks = 8;

// By category; distinct for colour-blind readers in the frequent ones.
constexpr std::array<const char*, kCategoryCount> kColours = {
    "#4477aa", "#66ccee", "#228833", "#ccbb44", "#aa9977", "#ee6677", "#aa3377",
    "#bbbbbb", "#775588", "#ee8866", "#99ddff", "#444444", "#dddd77",
};

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

// 1, 2 or 5 times a power of ten: about `kTicks` of them cover the range.
int64_t decimal_tick(int64_t range) {
  int64_t tick = 1;
  while (range / tick > kTicks) {
    if (range / (2 * tick) <= kTicks) return 2 * tick;
    if (range / (5 * tick) <= kTicks) return 5 * tick;
    tick *= 10;
  }
  return tick;
}

// A power of two, so that KiB and MiB come out round.
int64_t binary_tick(int64_t range) {
  int64_t tick = 1;
  while (range / tick > kTicks) tick *= 2;
  return tick;
}

class Drawing {
 public:
  Drawing(const Trace& trace, const OffsetPlan& plan, std::ostream& out, const PlanSvgOptions& options)
      : trace_(trace), plan_(plan), out_(out), options_(options) {
    first_step_ = trace.buffers.empty() ? 0 : INT64_MAX;
    for (const Buffer& buffer : trace.buffers) first_step_ = std::min(first_step_, buffer.intervals.front().begin);
    steps_ = std::max<int64_t>(1, end_step(trace) - first_step_);
    bytes_ = std::max<int64_t>(1, plan.peak_bytes);
  }

  void draw() {
    const int width = options_.width_pixels, height = options_.height_pixels;
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << width << "\" height=\"" << height
         << "\" viewBox=\"0 0 " << width << ' ' << height << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
         << "<text x=\"" << kLeft << "\" y=\"22\" font-size=\"14\">"
         << escaped(trace_.name.substr(trace_.name.rfind('/') + 1)) << ": peak " << format_bytes(plan_.peak_bytes)
         << ", lower bound " << format_bytes(plan_.lower_bound_bytes) << (plan_.proven_optimal ? ", optimal" : "")
         << "</text>\n";
    draw_buffers();
    draw_axes();
    draw_level(plan_.lower_bound_bytes, "#117733");
    draw_level(plan_.peak_bytes, "#cc3311");
    draw_legend();
    out_ << "</svg>\n";
  }

 private:
  // Tenths of a pixel are enough and keep large files small.
  static double tenth(double value) { return std::round(value * 10) / 10; }
  double x_of(int64_t step) const {
    const double share = static_cast<double>(step - first_step_) / static_cast<double>(steps_);
    return kLeft + share * (options_.width_pixels - kLeft - kRight);
  }
  double y_of(int64_t offset) const {
    const double share = static_cast<double>(offset) / static_cast<double>(bytes_);
    return options_.height_pixels - kBottom - share * (options_.height_pixels - kTop - kBottom);
  }

  void draw_buffers() {
    out_ << "<g stroke=\"white\" stroke-width=\"0.3\">\n";
    for (size_t i = 0; i < trace_.buffers.size(); ++i) {
      const Buffer& buffer = trace_.buffers[i];
      for (const Interval& interval : buffer.intervals) draw_interval(buffer, plan_.offsets[i], interval);
    }
    out_ << "</g>\n";
  }

  void draw_interval(const Buffer& buffer, int64_t offset, const Interval& interval) {
    const double x = x_of(interval.begin), width = x_of(interval.end) - x;
    const double y = y_of(offset + buffer.bytes), height = y_of(offset) - y;
    if (width < options_.least_pixels && height < options_.least_pixels) return;
    out_ << "<rect x=\"" << tenth(x) << "\" y=\"" << tenth(y) << "\" width=\"" << std::max(0.1, tenth(width))
         << "\" height=\"" << std::max(0.1, tenth(height)) << "\" fill=\""
         << kColours[static_cast<size_t>(buffer.category)] << "\"><title>buffer " << buffer.id << ", "
         << to_string(buffer.category) << ", " << buffer.bytes << " bytes at " << offset << ", steps " << interval.begin
         << " to " << interval.end << "</title></rect>\n";
  }

  void draw_axes() {
    const double bottom = y_of(0), right = x_of(first_step_ + steps_);
    out_ << "<g stroke=\"black\" stroke-width=\"1\" fill=\"none\"><path d=\"M" << kLeft << ' ' << kTop << " V" << bottom
         << " H" << right << "\"/></g>\n<g fill=\"black\">\n";
    const int64_t step_tick = decimal_tick(steps_);
    for (int64_t step = (first_step_ + step_tick - 1) / step_tick * step_tick; step <= first_step_ + steps_;
         step += step_tick) {
      out_ << "<text x=\"" << tenth(x_of(step)) << "\" y=\"" << bottom + 18 << "\" text-anchor=\"middle\">" << step
           << "</text>\n";
    }
    const int64_t byte_tick = binary_tick(bytes_);
    for (int64_t bytes = 0; bytes <= bytes_; bytes += byte_tick) {
      out_ << "<text x=\"" << kLeft - 6 << "\" y=\"" << tenth(y_of(bytes)) + 4 << "\" text-anchor=\"end\">"
           << format_bytes(bytes) << "</text>\n";
    }
    out_ << "<text x=\"" << (kLeft + right) / 2 << "\" y=\"" << bottom + 38
         << "\" text-anchor=\"middle\">step</text>\n</g>\n";
  }

  void draw_level(int64_t bytes, const char* colour) {
    out_ << "<path d=\"M" << kLeft << ' ' << tenth(y_of(bytes)) << " H" << x_of(first_step_ + steps_) << "\" stroke=\""
         << colour << "\" stroke-dasharray=\"6 3\" fill=\"none\"/>\n";
  }

  // Bytes live at the first step of the fullest stretch, by category; members of a group each count.
  CategoryBytes bytes_at_fullest_step() const {
    int64_t fullest = first_step_, most = -1;
    for (const ProfilePoint& point : live_profile(trace_)) {
      if (point.bytes > most) {
        most = point.bytes;
        fullest = point.step;
      }
    }
    CategoryBytes result{};
    for (const Buffer& buffer : trace_.buffers) {
      for (const Interval& interval : buffer.intervals) {
        const bool live = interval.begin <= fullest && fullest < interval.end;
        if (live) result[static_cast<size_t>(buffer.category)] += buffer.bytes;
      }
    }
    return result;
  }

  void draw_legend() {
    std::array<bool, kCategoryCount> used{};
    for (const Buffer& buffer : trace_.buffers) used[static_cast<size_t>(buffer.category)] = true;
    const CategoryBytes bytes = bytes_at_fullest_step();
    const int x = options_.width_pixels - kRight + 16;
    int y = kTop + 10;
    out_ << "<text x=\"" << x << "\" y=\"" << y << "\">live at the fullest step</text>\n";
    for (int category = 0; category < kCategoryCount; ++category) {
      if (!used[category]) continue;
      y += 20;
      out_ << "<rect x=\"" << x << "\" y=\"" << y - 10 << "\" width=\"12\" height=\"12\" fill=\"" << kColours[category]
           << "\"/><text x=\"" << x + 18 << "\" y=\"" << y << "\">" << to_string(static_cast<Category>(category)) << ' '
           << format_bytes(bytes[category]) << "</text>\n";
    }
  }

  const Trace& trace_;
  const OffsetPlan& plan_;
  std::ostream& out_;
  const PlanSvgOptions& options_;
  int64_t first_step_ = 0, steps_ = 1, bytes_ = 1;
};

}  // namespace

void write_plan_svg(const Trace& trace, const OffsetPlan& plan, std::ostream& out, const PlanSvgOptions& options) {
  Drawing(trace, plan, out, options).draw();
}

}  // namespace tidemark::memory
