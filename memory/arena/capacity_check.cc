#include "memory/arena/capacity_check.h"

#include "base/error.h"

namespace tidemark::memory {

void check_capacity(const Trace& trace, int64_t capacity_bytes) {
  if (capacity_bytes < 0) {
    throw Error(ErrorCode::config, trace.name + ": capacity is " + std::to_string(capacity_bytes) + " bytes");
  }
  for (const Buffer& buffer : trace.buffers) {
    if (buffer.bytes <= capacity_bytes) continue;
    throw Error(ErrorCode::config, trace.name + ": buffer " + std::to_string(buffer.id) + " has " +
                                       std::to_string(buffer.bytes) + " bytes, the capacity is " +
                                       std::to_string(capacity_bytes));
  }
}

}  // namespace tidemark::memory
