#include "memory/allocator/address_room.h"

#include <algorithm>

#include "base/error.h"

namespace tidemark::memory {
namespace {

bool can_reserve(DeviceMemory& device, int64_t bytes) {
  try {
    device.reserve(bytes);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
    return false;
  }
}

}  // namespace

VirtualRange reserve_up_to(DeviceMemory& device, int64_t most_bytes, int64_t least_bytes) {
  try {
    return device.reserve(std::max(most_bytes, least_bytes));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::out_of_memory) throw;
  }
  int64_t bytes = most_bytes / 2;
  while (bytes > least_bytes && !can_reserve(device, bytes)) bytes /= 2;
  return device.reserve(std::max(bytes / 2, least_bytes));
}

}  // namespace tidemark::memory
