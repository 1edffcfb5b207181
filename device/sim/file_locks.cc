#include "device/sim/file_locks.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/error.h"

namespace tidemark {
namespace {

struct flock one_byte(short type, int64_t byte) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = byte;
  lock.l_len = 1;
  return lock;
}

[[noreturn]] void fail(const char* call) {
  throw Error(ErrorCode::device, fmt::format("{}: {}", call, std::generic_category().message(errno)));
}

}  // namespace

bool try_lock_byte(int file, int64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  while (::fcntl(file, F_OFD_SETLK, &lock) != 0) {
    if (errno == EAGAIN || errno == EACCES) return false;
    if (errno != EINTR) fail("lock on a byte of a ledger");
  }
  return true;
}

void unlock_byte(int file, int64_t byte) noexcept {
  struct flock lock = one_byte(F_UNLCK, byte);
  ::fcntl(file, F_OFD_SETLK, &lock);
}

bool is_byte_locked(int file, int64_t byte) {
  struct flock lock = one_byte(F_WRLCK, byte);
  if (::fcntl(file, F_OFD_GETLK, &lock) != 0) fail("look at a lock of a ledger");
  return lock.l_type != F_UNLCK;
}

ByteLock::ByteLock(int file, int64_t byte, int64_t wait_ms) : file_(file), byte_(byte) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(wait_ms);
  while (!try_lock_byte(file, byte)) {
    if (std::chrono::steady_clock::now() > end) {
      throw Error(ErrorCode::device, fmt::format("byte {} of a ledger is locked for more than {} ms", byte, wait_ms));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace tidemark
