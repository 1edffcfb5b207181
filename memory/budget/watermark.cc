#include "memory/budget/watermark.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/log.h"

namespace tidemark::memory {

Watermark::Watermark(int64_t line_bytes, int64_t planned_bytes)
    : line_bytes_(line_bytes > 0 ? std::max(line_bytes, planned_bytes + 1) : 0) {}

bool Watermark::update(int64_t bytes) {
  if (line_bytes_ == 0) return false;
  if (bytes < line_bytes_ - line_bytes_ / 20) armed_ = true;
  if (!armed_ || bytes < line_bytes_) return false;
  armed_ = false;
  ++crossings_;
  return true;
}

void warn_of_watermark(const Watermark& watermark, std::string_view what, int64_t bytes, int64_t budget_bytes) {
  log(LogLevel::warning, "memory_watermark",
      {{"what", what},
       {"bytes", bytes},
       {"watermark_bytes", watermark.line_bytes()},
       {"budget_bytes", budget_bytes},
       {"left", format_bytes(std::max<int64_t>(0, budget_bytes - bytes))}});
}

}  // namespace tidemark::memory
