#include "device/sim/sim_ledger.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <system_error>
#include <type_traits>

#include "base/bytes.h"
#include "base/error.h"
#include "device/sim/file_locks.h"
#include "device/sim/process_identity.h"

namespace tidemark {

struct SimSlot {
  ProcessIdentity process;  // pid 0: free
  int64_t bytes;
  int64_t has_left;  // 1: ends without another word; its bytes count until then
};

struct SimLedgerFile {
  uint64_t magic;  // written last
  int64_t total_bytes;
  pthread_mutex_t mutex;
  std::array<SimSlot, SimLedger::kMaxClients> slots;
};

static_assert(std::is_trivially_copyable_v<SimLedgerFile>, "lies in a file");

namespace {

// Says which form of the file this is.
constexpr uint64_t kMagic = 0x74696465'6d616b03;
// Bytes of the file that are locked: one for those who come and go, then one a slot.
constexpr int64_t kDoorByte = 0;
constexpr int64_t kFirstSlotByte = 1;
// Nobody holds the books for longer than microseconds, or the door for longer than milliseconds.
constexpr int64_t kPatienceMs = 5'000;

std::string reason(int error) { return std::generic_category().message(error); }

}  // namespace

void SimLedger::check_name(const std::string& name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  if (!name.empty() && name.size() <= 64 && std::all_of(name.begin(), name.end(), allowed)) return;
  throw Error(ErrorCode::config,
              fmt::format("device 'sim:{}' has a bad name; take letters, digits, '.', '_' and '-', at most 64", name));
}

class SimLedger::Locked {
 public:
  explicit Locked(const SimLedger& ledger) : ledger_(ledger) { ledger_.lock_books(); }
  ~Locked() { ledger_.unlock_books(); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  const SimLedger& ledger_;
};

SimLedger::SimLedger(const std::string& name, int64_t total_bytes, const std::string& directory)
    : name_(name), path_(fmt::format("{}/tidemark-sim.{}.{}", directory, ::getuid(), name)) {
  check_name(name);
  try {
    open_or_create(total_bytes);
  } catch (...) {
    close_file();
    throw;
  }
}

SimLedger::~SimLedger() {
  if (!file_) return;
  try {
    const ByteLock door(descriptor_, kDoorByte, kPatienceMs);
    const Locked lock(*this);
    file_->slots[static_cast<size_t>(slot_)] = {};
    remove_if_left();
  } catch (const Error&) {
    // Closing the descriptor gives the slot up; the next to look drops it.
  }
  close_file();
}

// Whoever comes or goes holds the door, so a file that is reached through the door has its last client ahead of it
// or behind it.
void SimLedger::open_or_create(int64_t total_bytes) {
  while (true) {
    if (!open_file()) throw Error(ErrorCode::device, fmt::format("ledger '{}': {}", path_, reason(errno)));
    const ByteLock door(descriptor_, kDoorByte, kPatienceMs);
    struct stat status = {};
    if (::fstat(descriptor_, &status) != 0) throw Error(ErrorCode::device, "fstat of a ledger: " + reason(errno));
    if (status.st_nlink == 0) continue;  // its last client removed it meanwhile
    prepare_file();
    const Locked lock(*this);
    drop_dead();
    settle_size(total_bytes);
    take_slot();
    return;
  }
}

bool SimLedger::open_file() {
  close_file();
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  return descriptor_ >= 0;
}

void SimLedger::close_file() noexcept {
  if (file_) ::munmap(file_, sizeof(SimLedgerFile));
  if (descriptor_ >= 0) ::close(descriptor_);
  file_ = nullptr;
  descriptor_ = -1;
}

// Its clients' locks lie on the same bytes in all forms: whoever is there would lose its books.
void SimLedger::refuse_other_form_in_use() const {
  uint64_t magic = 0;
  if (::pread(descriptor_, &magic, sizeof magic, offsetof(SimLedgerFile, magic)) != sizeof magic || magic == kMagic)
    return;
  for (int slot = 0; slot < kMaxClients; ++slot) {
    if (!is_byte_locked(descriptor_, kFirstSlotByte + slot)) continue;
    throw Error(ErrorCode::device, fmt::format("device 'sim:{}' is in use by another version of this program; wait for "
                                               "its end or take another name",
                                               name_));
  }
}

void SimLedger::prepare_file() {
  refuse_other_form_in_use();
  if (::ftruncate(descriptor_, sizeof(SimLedgerFile)) != 0) {
    throw Error(ErrorCode::device, fmt::format("ledger '{}': ftruncate: {}", path_, reason(errno)));
  }
  void* mapped = ::mmap(nullptr, sizeof(SimLedgerFile), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (mapped == MAP_FAILED) throw Error(ErrorCode::device, fmt::format("ledger '{}': mmap: {}", path_, reason(errno)));
  file_ = static_cast<SimLedgerFile*>(mapped);
  if (file_->magic == kMagic) return;
  *file_ = {};
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  const int error = pthread_mutex_init(&file_->mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
  if (error != 0) throw Error(ErrorCode::device, "mutex of a ledger: " + reason(error));
  file_->magic = kMagic;
}

void SimLedger::settle_size(int64_t total_bytes) {
  if (clients() == 0) {
    if (total_bytes == 0) {
      ::unlink(path_.c_str());
      throw Error(ErrorCode::device,
                  fmt::format("device 'sim:{0}' is not there and has no size; write sim:{0}?size=2GiB", name_));
    }
    file_->total_bytes = total_bytes;
  } else if (total_bytes != 0 && total_bytes != file_->total_bytes) {
    throw Error(ErrorCode::config,
                fmt::format("device 'sim:{}' has {} bytes ({}) and is in use, {} bytes ({}) are asked for; ask for the "
                            "same size or take another name",
                            name_, file_->total_bytes, format_bytes(file_->total_bytes), total_bytes,
                            format_bytes(total_bytes)));
  }
  total_bytes_ = file_->total_bytes;
}

void SimLedger::take_slot() {
  for (int slot = 0; slot < kMaxClients; ++slot) {
    SimSlot& taken = file_->slots[static_cast<size_t>(slot)];
    if (taken.process.pid != 0 || !try_lock_byte(descriptor_, kFirstSlotByte + slot)) continue;
    taken.bytes = 0;
    taken.has_left = 0;
    taken.process = this_process();
    slot_ = slot;
    return;
  }
  throw Error(ErrorCode::device,
              fmt::format("device 'sim:{}' has {} clients, no more are allowed", name_, kMaxClients));
}

void SimLedger::lock_books() const {
  if (!file_) {
    throw Error(ErrorCode::device,
                fmt::format("device 'sim:{}' was opened before a fork; the child must open it again", name_));
  }
  int error = pthread_mutex_trylock(&file_->mutex);
  if (error == EBUSY) {
    timespec until = {};
    ::clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += kPatienceMs / 1000;
    error = pthread_mutex_timedlock(&file_->mutex, &until);
  }
  if (error == EOWNERDEAD) {
    pthread_mutex_consistent(&file_->mutex);  // Note [Ledger]: nothing can be half written
  } else if (error != 0) {
    throw Error(ErrorCode::device, fmt::format("books of device 'sim:{}' cannot be locked: {}", name_, reason(error)));
  }
}

void SimLedger::unlock_books() const { pthread_mutex_unlock(&file_->mutex); }

bool SimLedger::is_dead(int slot) const {
  const SimSlot& asked = file_->slots[static_cast<size_t>(slot)];
  if (asked.process.pid == 0 || slot == slot_) return false;
  return !is_byte_locked(descriptor_, kFirstSlotByte + slot) || has_ended(asked.process);
}

void SimLedger::drop_dead() const {
  for (int slot = 0; slot < kMaxClients; ++slot) {
    if (is_dead(slot)) file_->slots[static_cast<size_t>(slot)] = {};
  }
}

int SimLedger::clients() const {
  return static_cast<int>(
      std::count_if(file_->slots.begin(), file_->slots.end(), [](const SimSlot& s) { return s.process.pid != 0; }));
}

// Under the door, which others of the same name do not share: a file that is gone already must not take theirs along.
void SimLedger::remove_if_left() const {
  drop_dead();
  const bool stays =
      std::ranges::any_of(file_->slots, [](const SimSlot& s) { return s.process.pid != 0 && !s.has_left; });
  struct stat status = {};
  if (!stays && ::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) ::unlink(path_.c_str());
}

SimBooks SimLedger::sum() const {
  SimBooks books = {.total_bytes = file_->total_bytes};
  for (int slot = 0; slot < kMaxClients; ++slot) {
    const SimSlot& counted = file_->slots[static_cast<size_t>(slot)];
    if (counted.process.pid == 0) continue;
    (slot == slot_ ? books.own_bytes : books.foreign_bytes) += counted.bytes;
  }
  return books;
}

bool SimLedger::take(int64_t bytes) {
  const Locked lock(*this);
  if (sum().free_bytes() < bytes) drop_dead();
  if (sum().free_bytes() < bytes) return false;
  file_->slots[static_cast<size_t>(slot_)].bytes += bytes;
  return true;
}

void SimLedger::leave() {
  if (!file_) return;
  const ByteLock door(descriptor_, kDoorByte, kPatienceMs);
  const Locked lock(*this);
  file_->slots[static_cast<size_t>(slot_)].has_left = 1;
  remove_if_left();
}

void SimLedger::give_back(int64_t bytes) {
  if (!file_) return;
  const Locked lock(*this);
  file_->slots[static_cast<size_t>(slot_)].bytes -= bytes;
}

SimBooks SimLedger::books() const {
  const Locked lock(*this);
  drop_dead();
  return sum();
}

void SimLedger::locked(const std::function<void()>& inside) const {
  const Locked lock(*this);
  inside();
}

void SimLedger::drop_in_child() noexcept { close_file(); }

}  // namespace tidemark
