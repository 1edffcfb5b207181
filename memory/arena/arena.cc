#include "memory/arena/arena.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/error.h"

namespace tidemark::memory {

Arena::Arena(DeviceMemory& device, int64_t capacity_bytes, ArenaOptions options)
    : device_(device), range_(device.reserve(capacity_bytes)) {
  if (!options.growth) ensure(range_.bytes());
}

void Arena::ensure(int64_t bytes) {
  TM_CHECK(bytes <= range_.bytes(),
           "arena of " + std::to_string(range_.bytes()) + " bytes is asked for " + std::to_string(bytes));
  const int64_t wanted = device_.round_up(bytes);
  if (wanted <= committed_bytes()) return;
  range_.commit(committed_bytes(), wanted - committed_bytes());
  peak_committed_bytes_ = std::max(peak_committed_bytes_, committed_bytes());
}

void Arena::trim(int64_t bytes) {
  const int64_t kept = device_.round_up(std::max<int64_t>(bytes, 0));
  if (kept < committed_bytes()) range_.decommit(kept, committed_bytes() - kept);
}

void Arena::fill(std::byte pattern) {
  TM_CHECK(device_.kind() != DeviceKind::cuda, "fill needs memory that the host can write");
  if (committed_bytes() > 0) {
    std::memset(data(), std::to_integer<int>(pattern), static_cast<size_t>(committed_bytes()));
  }
}

int64_t Arena::highest_touched(std::byte pattern) const {
  TM_CHECK(device_.kind() != DeviceKind::cuda, "highest_touched needs memory that the host can read");
  int64_t end = committed_bytes();
  while (end > 0 && data()[end - 1] == pattern) --end;
  return end;
}

}  // namespace tidemark::memory
