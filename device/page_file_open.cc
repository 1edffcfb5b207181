#include "device/page_file_open.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

namespace tidemark {
namespace {

class Descriptor {
 public:
  explicit Descriptor(long number) : number_(static_cast<int>(number)) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

OpenedFile refused(const char* call) { return {-1, std::string(call) + ": " + std::generic_category().message(errno)}; }

// By number: C libraries before 2.36 have no functions for these calls.
long set_option(int file_system, const char* key, const std::string& value) {
  return ::syscall(SYS_fsconfig, file_system, FSCONFIG_SET_STRING, key, value.c_str(), 0);
}

}  // namespace

OpenedFile open_tmpfs_file(int64_t bytes) {
  const Descriptor file_system(::syscall(SYS_fsopen, "tmpfs", FSOPEN_CLOEXEC));
  if (file_system.number() < 0) return refused("fsopen");
  if (set_option(file_system.number(), "size", std::to_string(bytes)) != 0) return refused("fsconfig size");
  if (set_option(file_system.number(), "huge", "always") != 0) return refused("fsconfig huge");
  if (::syscall(SYS_fsconfig, file_system.number(), FSCONFIG_CMD_CREATE, nullptr, nullptr, 0) != 0) {
    return refused("fsconfig create");
  }
  // The open file keeps the mount alive after its own descriptor is closed.
  const Descriptor mount(::syscall(SYS_fsmount, file_system.number(), FSMOUNT_CLOEXEC, 0));
  if (mount.number() < 0) return refused("fsmount");
  Descriptor file(::openat(mount.number(), ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file.number() < 0) return refused("open of a file without a name");
  if (::ftruncate(file.number(), bytes) != 0) return refused("ftruncate");
  return {file.release(), ""};
}

OpenedFile open_sealed_memfd(int64_t bytes) {
  Descriptor file(::memfd_create("tidemark-pages", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file.number() < 0) return refused("memfd_create");
  if (::ftruncate(file.number(), bytes) != 0) return refused("ftruncate");
  if (::fcntl(file.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return refused("F_ADD_SEALS");
  return {file.release(), ""};
}

}  // namespace tidemark
