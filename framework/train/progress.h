// What a person sees while training runs: a bar on a terminal, plain lines elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace tidemark::train {

struct ProgressLine {
  int64_t step = 0;  // done
  int64_t total_steps = 0;
  double epoch = 0;  // done, with a fraction
  double loss = 0;
  std::optional<double> accuracy;
  double samples_per_second = 0;
  double tokens_per_second = 0;  // 0: the data has no tokens
  double learning_rate = 0;
  int64_t memory_bytes = 0;
  int64_t budget_bytes = 0;
};

// Width of the terminal behind a file descriptor; 80 if it does not tell.
size_t terminal_columns(int descriptor);

class Progress {
 public:
  // terminal: redraw one line in place, at most ten times a second, cut to `columns`; else a new line every `log_every`
  // steps.
  Progress(std::ostream& out, bool terminal, int64_t log_every, size_t columns = 200);

  void step(const ProgressLine& line);
  // A line of its own that stays: evaluation, checkpoint, end.
  void note(const std::string& text);

 private:
  void clear_bar();

  std::ostream& out_;
  const bool terminal_;
  const int64_t log_every_;
  const size_t columns_;
  bool bar_is_drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_{};
};

// "step 120/1000 loss 0.5123 acc 81.2% mem 34.0 MiB of 4.0 GiB 5121 samples/s lr 1.0e-03 epoch 0.26"
std::string to_string(const ProgressLine& line);

}  // namespace tidemark::train
