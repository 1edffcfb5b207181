#include "framework/cli/budget_watch.h"

#include <utility>

#include "base/bytes.h"

namespace tidemark::cli {

memory::Watermark make_watermark(const config::MemorySection& memory, int64_t budget_bytes, int64_t planned_bytes) {
  if (memory.watermark.empty()) return memory::Watermark(0);
  return memory::Watermark(parse_byte_limit(memory.watermark).resolve(budget_bytes), planned_bytes);
}

BudgetWatch::BudgetWatch(memory::Watermark watermark, std::string what, const DeviceMemory& device,
                         int64_t budget_bytes)
    : watermark_(watermark), what_(std::move(what)), device_(device), budget_bytes_(budget_bytes) {}

void BudgetWatch::look() {
  const int64_t bytes = device_.committed_bytes();
  if (watermark_.update(bytes)) memory::warn_of_watermark(watermark_, what_, bytes, budget_bytes_);
}

}  // namespace tidemark::cli
