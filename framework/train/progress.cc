#include "framework/train/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <ostream>

#include "base/bytes.h"

namespace tidemark::train {
namespace {

constexpr int kBarWidth = 10;
constexpr size_t kUsualColumns = 80;
constexpr auto kRedraw = std::chrono::milliseconds(100);

std::string bar(int64_t done, int64_t total) {
  const int filled = total > 0 ? static_cast<int>(kBarWidth * done / total) : 0;
  return "[" + std::string(static_cast<size_t>(filled), '#') +
         std::string(static_cast<size_t>(kBarWidth - filled), '.') + "]";
}

std::string rate(const ProgressLine& line) {
  if (line.tokens_per_second > 0) return fmt::format("{:.0f} tokens/s", line.tokens_per_second);
  return fmt::format("{:.0f} samples/s", line.samples_per_second);
}

}  // namespace

// What matters most comes first: a bar is cut to the terminal.
std::string to_string(const ProgressLine& line) {
  std::string text = fmt::format("step {}/{} loss {:.4f}", line.step, line.total_steps, line.loss);
  if (line.accuracy) text += fmt::format(" acc {:.1f}%", 100 * *line.accuracy);
  return text + fmt::format(" mem {} of {} {} lr {:.1e} epoch {:.2f}", format_bytes(line.memory_bytes),
                            format_bytes(line.budget_bytes), rate(line), line.learning_rate, line.epoch);
}

size_t terminal_columns(int descriptor) {
  winsize size{};
  const bool known = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return known ? size.ws_col : kUsualColumns;
}

Progress::Progress(std::ostream& out, bool terminal, int64_t log_every, size_t columns)
    : out_(out), terminal_(terminal), log_every_(log_every), columns_(columns) {}

void Progress::clear_bar() {
  if (bar_is_drawn_) out_ << "\r\x1b[K";
  bar_is_drawn_ = false;
}

void Progress::step(const ProgressLine& line) {
  const bool last = line.step == line.total_steps;
  if (!terminal_) {
    if (last || line.step % log_every_ == 0) out_ << to_string(line) << std::endl;
    return;
  }
  const auto now = std::chrono::steady_clock::now();
  if (!last && now - last_drawn_ < kRedraw) return;
  last_drawn_ = now;
  clear_bar();
  // A line longer than the terminal would wrap, and could not be drawn over.
  out_ << (bar(line.step, line.total_steps) + ' ' + to_string(line)).substr(0, columns_ - 1) << std::flush;
  bar_is_drawn_ = true;
  if (last) note("");
}

void Progress::note(const std::string& text) {
  if (text.empty() && bar_is_drawn_) {
    out_ << std::endl;
    bar_is_drawn_ = false;
    return;
  }
  clear_bar();
  out_ << text << std::endl;
}

}  // namespace tidemark::train
