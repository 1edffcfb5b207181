#include "framework/cli/measuring_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <iostream>
#include <utility>

#include "framework/train/progress.h"

namespace tidemark::cli {
namespace {

constexpr double kRedrawSeconds = 0.1;

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string text_of(const compile::Measuring& now) {
  return fmt::format("measuring costs of '{}': {}/{} {}", now.graph, now.done, now.missing, now.node);
}

}  // namespace

MeasuringLine::MeasuringLine()
    : MeasuringLine(std::cerr, isatty(STDERR_FILENO) != 0, train::terminal_columns(STDERR_FILENO)) {}

MeasuringLine::MeasuringLine(std::ostream& out, bool terminal, size_t columns, std::function<double()> seconds)
    : out_(out), terminal_(terminal), columns_(columns), seconds_(seconds ? std::move(seconds) : steady_seconds) {}

MeasuringLine::~MeasuringLine() { clear(); }

void MeasuringLine::tell(const compile::Measuring& now) {
  const double time = seconds_();
  if (now.done == 0) {
    begin_ = time;
    next_ = terminal_ ? time : time + kFirstLineSeconds;
    said_ = false;
  }
  if (now.done == now.missing) {
    clear();
    if (said_) out_ << fmt::format("measured {} costs of '{}' in {:.1f} s\n", now.done, now.graph, time - begin_);
    out_.flush();
    return;
  }
  if (time < next_) return;
  next_ = time + (terminal_ ? kRedrawSeconds : kNextLineSeconds);
  draw(text_of(now));
}

// A line longer than the terminal would wrap, and could not be drawn over.
void MeasuringLine::draw(const std::string& text) {
  clear();
  said_ = said_ || !terminal_;
  if (terminal_) {
    out_ << text.substr(0, columns_ - 1) << std::flush;
  } else {
    out_ << text << std::endl;
  }
  drawn_ = terminal_;
}

void MeasuringLine::clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

std::function<void(const compile::Measuring&)> MeasuringLine::listener() {
  return [this](const compile::Measuring& now) { tell(now); };
}

}  // namespace tidemark::cli
