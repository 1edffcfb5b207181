#include "memory/recompute/frontier_svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>

#include "base/bytes.h"

namespace tidemark::memory {
namespace {

constexpr double kWidth = 860;
constexpr double kHeight = 480;
constexpr double kLeft = 70;
constexpr double kRight = 20;
constexpr double kTop = 50;
constexpr double kBottom = 60;
constexpr const char* kPlanColour = "#2b6cb0";
constexpr const char* kBoundColour = "#f6ad55";

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}

std::string number(double value, int digits) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

// A step of 1, 2 or 5 times a power of ten that gives about `count` marks.
double mark_step(double range, double count) {
  const double rough = range / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

class FrontierPicture {
 public:
  FrontierPicture(int64_t plain_peak_bytes, const std::vector<FrontierPoint>& points, std::ostream& out)
      : peak_(static_cast<double>(std::max<int64_t>(plain_peak_bytes, 1))), points_(points), out_(out) {
    std::sort(points_.begin(), points_.end(),
              [](const auto& a, const auto& b) { return a.budget_bytes < b.budget_bytes; });
    for (const FrontierPoint& point : points_) {
      if (point.reached) top_ = std::max(top_, 100 * point.plan.overhead);
      least_share_ = std::min(least_share_, share(point));
    }
    top_ = top_ <= 0 ? 1 : top_ * 1.05;
    least_share_ = std::max(0.0, least_share_ - 0.05);
  }

  void write(const std::string& title) {
    out_ << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kWidth << "\" height=\"" << kHeight
         << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    text(kLeft, 24, "start", escaped(title) + ": overhead of recomputation by budget");
    shade_unreached();
    axes();
    bound_line();
    plan_line();
    legend();
    dots();
    out_ << "</svg>\n";
  }

 private:
  double share(const FrontierPoint& point) const { return static_cast<double>(point.budget_bytes) / peak_; }
  double x(double share) const {
    return kLeft + (share - least_share_) / std::max(1e-9, 1.02 - least_share_) * (kWidth - kLeft - kRight);
  }
  double y(double percent) const { return kHeight - kBottom - percent / top_ * (kHeight - kTop - kBottom); }

  void text(double at_x, double at_y, const char* anchor, const std::string& content) {
    out_ << "<text x=\"" << number(at_x, 1) << "\" y=\"" << number(at_y, 1) << "\" text-anchor=\"" << anchor << "\">"
         << content << "</text>\n";
  }

  void rule(double x1, double y1, double x2, double y2, const char* colour) {
    out_ << "<line x1=\"" << number(x1, 1) << "\" y1=\"" << number(y1, 1) << "\" x2=\"" << number(x2, 1) << "\" y2=\""
         << number(y2, 1) << "\" stroke=\"" << colour << "\"/>\n";
  }

  void shade_unreached() {
    double end = least_share_;
    for (const FrontierPoint& point : points_)
      if (!point.reached) end = std::max(end, share(point));
    if (end <= least_share_) return;
    out_ << "<rect x=\"" << number(x(least_share_), 1) << "\" y=\"" << kTop << "\" width=\""
         << number(x(end) - x(least_share_), 1) << "\" height=\"" << kHeight - kTop - kBottom
         << "\" fill=\"#eeeeee\"><title>no plan found</title></rect>\n";
  }

  void axes() {
    const double step = mark_step(top_, 6);
    for (double percent = 0; percent <= top_; percent += step) {
      rule(kLeft, y(percent), kWidth - kRight, y(percent), "#dddddd");
      text(kLeft - 8, y(percent) + 4, "end", number(percent, step < 0.1 ? 2 : step < 1 ? 1 : 0) + " %");
    }
    const double share_step = mark_step(1 - least_share_, 8);
    for (double at = std::ceil(least_share_ / share_step) * share_step; at <= 1.0001; at += share_step) {
      rule(x(at), kHeight - kBottom, x(at), kHeight - kBottom + 5, "#444444");
      text(x(at), kHeight - kBottom + 20, "middle", number(100 * at, 0) + " %");
    }
    rule(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "#444444");
    text(kLeft, kHeight - 14, "start",
         "budget, as a share of the peak without recomputation (" + format_bytes(static_cast<int64_t>(peak_)) + ")");
  }

  void begin_line(const char* colour, int width) {
    out_ << "<polyline fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"" << width << "\" points=\"";
  }

  void corner(double share, double overhead) {
    out_ << number(x(share), 1) << ',' << number(y(100 * overhead), 1) << ' ';
  }

  // A plan serves every larger budget.
  void plan_line() {
    begin_line(kPlanColour, 2);
    double last = -1;
    for (const FrontierPoint& point : points_) {
      if (!point.reached) continue;
      if (last >= 0) corner(share(point), last);
      corner(share(point), last = point.plan.overhead);
    }
    out_ << "\"/>\n";
  }

  // A bound holds for every smaller budget: to the left of its own, and what is proven for larger ones holds as well.
  // Wide, so that it is seen behind a plan that is proven best.
  void bound_line() {
    begin_line(kBoundColour, 6);
    double bound = -1;
    for (auto point = points_.rbegin(); point != points_.rend(); ++point) {
      if (!point->reached) continue;
      if (bound >= 0) corner(share(*point), bound);
      corner(share(*point), bound = std::max(bound, point->plan.overhead_lower_bound));
    }
    out_ << "\"/>\n";
  }

  void dots() {
    for (const FrontierPoint& point : points_) {
      if (!point.reached) continue;
      out_ << "<circle cx=\"" << number(x(share(point)), 1) << "\" cy=\"" << number(y(100 * point.plan.overhead), 1)
           << "\" r=\"3\" fill=\"" << kPlanColour << "\"><title>budget " << format_bytes(point.budget_bytes)
           << ", peak " << format_bytes(point.plan.peak_live_bytes) << ", overhead "
           << number(100 * point.plan.overhead, 4) << " %, at least "
           << number(100 * point.plan.overhead_lower_bound, 4) << " %</title></circle>\n";
    }
  }

  void legend() {
    rule(kWidth - 250, 20, kWidth - 230, 20, kPlanColour);
    text(kWidth - 225, 24, "start", "plan");
    out_ << "<rect x=\"" << kWidth - 180 << "\" y=\"17\" width=\"20\" height=\"6\" fill=\"" << kBoundColour << "\"/>\n";
    text(kWidth - 155, 24, "start", "no plan can cost less");
  }

  const double peak_;
  std::vector<FrontierPoint> points_;
  std::ostream& out_;
  double top_ = 0;
  double least_share_ = 1;
};

}  // namespace

void write_frontier_svg(const std::string& title, int64_t plain_peak_bytes, const std::vector<FrontierPoint>& points,
                        std::ostream& out) {
  FrontierPicture(plain_peak_bytes, points, out).write(title);
}

}  // namespace tidemark::memory
