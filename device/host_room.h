// How much a device on this machine may take now, without reading /proc for every page.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace tidemark {

// Thread-safe. A reading of committable_host_bytes() serves for max_age, less what its owner took since and with what
// it gave back, as long as 64 MiB of it are left: near the end every answer is fresh.
class HostRoom {
 public:
  using Age = std::chrono::steady_clock::duration;
  explicit HostRoom(std::string system_root = "", Age max_age = std::chrono::milliseconds(2));

  // Throws Error(io) as read_host_capacity does.
  int64_t committable_bytes() const;
  // The owner has taken bytes of it, or has given some back.
  void note_taken(int64_t bytes);
  void note_given_back(int64_t bytes) { note_taken(-bytes); }

 private:
  const std::string system_root_;
  const Age max_age_;
  mutable std::mutex mutex_;
  mutable int64_t left_bytes_ = 0;
  mutable std::chrono::steady_clock::time_point read_{};
};

}  // namespace tidemark
