#include "device/host_room.h"

#include <utility>

#include "device/host_capacity.h"

namespace tidemark {
namespace {

constexpr int64_t kLeastLeftBytes = int64_t{64} << 20;

}  // namespace

HostRoom::HostRoom(std::string system_root, Age max_age) : system_root_(std::move(system_root)), max_age_(max_age) {}

int64_t HostRoom::committable_bytes() const {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(mutex_);
  if (left_bytes_ < kLeastLeftBytes || now - read_ > max_age_) {
    left_bytes_ = committable_host_bytes(system_root_);
    read_ = now;
  }
  return left_bytes_;
}

void HostRoom::note_taken(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  left_bytes_ -= bytes;
}

}  // namespace tidemark
