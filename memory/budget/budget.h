// The hard limit on the bytes that a run may take from a device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "device/device_memory.h"

namespace tidemark::memory {

// What a plan wants, in the words that a refusal needs.
struct PlannedNeed {
  std::string name;            // model and body: "gpt", "gpt/update"
  int64_t bytes = 0;           // planned peak with page rounding, and what the run takes outside the arena
  std::string largest_tensor;  // largest tensor that is live at the peak; may be empty
  int64_t largest_tensor_bytes = 0;
  // What the user can change where the budget is too small, and where the device has too little left; a caller with
  // more to offer says so.
  std::string remedy = "lower memory.micro_batch or raise memory.budget";
  std::string device_remedy = "stop other programs or lower memory.micro_batch";
};

class Budget {
 public:
  // `limit` as memory.budget says, nothing for the whole device; never more than the device's capacity. Sets it as the
  // device's limit, so that no commit can cross it. Throws Error(config) if it is below one page of the device.
  // The device must outlive the budget.
  Budget(const std::optional<ByteLimit>& limit, DeviceMemory& device);

  int64_t limit_bytes() const { return limit_bytes_; }

  // Before step 1: throws Error(out_of_memory) with both numbers, the largest tensor and the remedy if the need is
  // above the limit, or above what the device can give now (its free bytes and what is committed already).
  void check(const PlannedNeed& need) const;

 private:
  DeviceMemory& device_;
  int64_t limit_bytes_;
};

}  // namespace tidemark::memory
