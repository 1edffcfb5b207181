// memory.watermark for commands: warns once when the device's bytes rise above it.
#pragma once

#include <string>

#include "device/device_memory.h"
#include "framework/config/config.h"
#include "memory/budget/watermark.h"

namespace tidemark::cli {

// memory.watermark is of the budget. `planned_bytes`: what a plan has proven to fit.
memory::Watermark make_watermark(const config::MemorySection& memory, int64_t budget_bytes, int64_t planned_bytes = 0);

class BudgetWatch {
 public:
  // `what` stands in the warning: the model. The device must outlive the object.
  BudgetWatch(memory::Watermark watermark, std::string what, const DeviceMemory& device, int64_t budget_bytes);

  // Costs a few loads; call it wherever memory may have grown.
  void look();

 private:
  memory::Watermark watermark_;
  const std::string what_;
  const DeviceMemory& device_;
  const int64_t budget_bytes_;
};

}  // namespace tidemark::cli
