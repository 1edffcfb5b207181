// A line below the budget: whoever rises above it hears of it once, while there is still room.
#pragma once

#include <cstdint>
#include <string_view>

namespace tidemark::memory {

class Watermark {
 public:
  // 0: there is no line. Bytes that a plan has proven to fit are no reason to warn: with `planned_bytes` at or above
  // the line, only more than those crosses it.
  explicit Watermark(int64_t line_bytes, int64_t planned_bytes = 0);

  // True when `bytes` crosses the line upwards; not again before they have fallen a twentieth of the line below it.
  // Not thread-safe.
  bool update(int64_t bytes);

  // 0 where there is none.
  int64_t line_bytes() const { return line_bytes_; }
  int64_t crossings() const { return crossings_; }

 private:
  const int64_t line_bytes_;
  bool armed_ = true;
  int64_t crossings_ = 0;
};

// Logs a warning with both numbers, and what is left of the budget.
void warn_of_watermark(const Watermark& watermark, std::string_view what, int64_t bytes, int64_t budget_bytes);

}  // namespace tidemark::memory
