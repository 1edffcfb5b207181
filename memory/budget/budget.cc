#include "memory/budget/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace tidemark::memory {
namespace {

// Two sizes for a comparison: exact as well where one decimal would print them alike.
struct SizePair {
  std::string needed;
  std::string allowed;
};

SizePair format_pair(int64_t needed_bytes, int64_t allowed_bytes) {
  SizePair text = {format_bytes(needed_bytes), format_bytes(allowed_bytes)};
  if (text.needed == text.allowed) {
    text.needed += fmt::format(" ({} bytes)", needed_bytes);
    text.allowed += fmt::format(" ({} bytes)", allowed_bytes);
  }
  return text;
}

std::string peak_clause(const PlannedNeed& need) {
  if (need.largest_tensor.empty()) return "";
  return fmt::format("; peak at {} ({})", need.largest_tensor, format_bytes(need.largest_tensor_bytes));
}

}  // namespace

Budget::Budget(const std::optional<ByteLimit>& limit, DeviceMemory& device) : device_(device) {
  const int64_t capacity_bytes = device.capacity_bytes();
  const int64_t wanted_bytes = limit ? limit->resolve(capacity_bytes) : capacity_bytes;
  if (wanted_bytes < device.granularity_bytes()) {
    throw Error(ErrorCode::config,
                fmt::format("memory.budget {} is {}, below one page of device '{}' ({})",
                            limit ? to_string(*limit) : "of the whole device", format_bytes(wanted_bytes),
                            device.name(), format_bytes(device.granularity_bytes())));
  }
  limit_bytes_ = std::min(wanted_bytes, capacity_bytes);
  device_.set_limit_bytes(limit_bytes_);
}

void Budget::check(const PlannedNeed& need) const {
  if (need.bytes > limit_bytes_) {
    const SizePair size = format_pair(need.bytes, limit_bytes_);
    throw Error(ErrorCode::out_of_memory, fmt::format("arena for '{}' needs {}, budget is {}{}; {}", need.name,
                                                      size.needed, size.allowed, peak_clause(need), need.remedy));
  }
  const int64_t room_bytes = device_.committable_bytes() + device_.committed_bytes();
  if (need.bytes > room_bytes) {
    const SizePair size = format_pair(need.bytes, room_bytes);
    throw Error(ErrorCode::out_of_memory,
                fmt::format("arena for '{}' needs {}, device '{}' can give {} of {}{}; {}", need.name, size.needed,
                            device_.name(), size.allowed, format_bytes(device_.capacity_bytes()), peak_clause(need),
                            need.device_remedy));
  }
}

}  // namespace tidemark::memory
