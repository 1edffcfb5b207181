// Locks on single bytes of a file that belong to an open file description: the kernel takes them back when its last
// descriptor is closed, however the process ends. (Locks of the older kind are lost when any descriptor is closed.)
#pragma once

#include <cstdint>

namespace tidemark {

// Takes the lock on a byte if nobody has it. False: somebody has. Throws Error(device) for what else the system says.
bool try_lock_byte(int file, int64_t byte);
void unlock_byte(int file, int64_t byte) noexcept;
// True if another open file description has the lock. Throws Error(device).
bool is_byte_locked(int file, int64_t byte);

// Holds the lock on a byte; waits for it up to wait_ms, then throws Error(device).
class ByteLock {
 public:
  ByteLock(int file, int64_t byte, int64_t wait_ms);
  ~ByteLock() { unlock_byte(file_, byte_); }
  ByteLock(const ByteLock&) = delete;
  ByteLock& operator=(const ByteLock&) = delete;

 private:
  int file_;
  int64_t byte_;
};

}  // namespace tidemark
