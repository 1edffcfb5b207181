// The books of a simulated device, shared by every process that is attached to it.
//
// Note [Ledger]
// A file in shared memory holds nothing but the books: the device's size and a slot for each client with the bytes that
// it has. What is used is always the sum of the slots and never kept beside it, so no crash can leave a wrong sum. A
// client raises its slot before it asks the kernel for pages and lowers it after it gave them back: a crash between the
// two counts too much, never too little, until the slot is dropped.
//
// A process can be killed anywhere. The mutex over the books is robust: the next to lock it goes on, and finds nothing
// half written, because a slot's bytes are one word. Each client holds a lock on one byte of the file through a
// descriptor of its own (an open-file-description lock); the kernel takes it back when the client is gone. A slot
// without its lock, or of a process that ended, is dropped by whoever looks next: always when figures are asked for,
// and before a request is refused.
//
// The last client to leave removes the file. One that lives until its process ends leaves before, by leave(): its slot
// counts on, but whoever leaves last need not wait for it, and it goes on with books that may have no name any more.
// Such books are told from others of the same name by their link count, under the lock of who comes and goes. A file
// that killed processes left behind is taken over, with the size that the next client wants. While clients are
// attached, all must want the same size. A forked child is no client: it lets go of the ledger at once and cannot use
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tidemark {

// From one moment. total = own + foreign + free.
struct SimBooks {
  int64_t total_bytes = 0;
  int64_t own_bytes = 0;
  int64_t foreign_bytes = 0;  // of the other clients, those of this process included
  int64_t free_bytes() const { return total_bytes - own_bytes - foreign_bytes; }
};

struct SimLedgerFile;  // what is in the file

// Thread-safe.
class SimLedger {
 public:
  static constexpr int kMaxClients = 64;
  static constexpr const char* kDirectory = "/dev/shm";

  // Throws Error(config) for a name that no device can have.
  static void check_name(const std::string& name);

  // Attaches to the device `name` of this user: letters, digits, '.', '_' and '-', at most 64. total_bytes of 0 takes
  // the size that the device has. Throws Error(config) for a bad name or another size than the device has, with both
  // numbers; Error(device) for a size of 0 if nobody is attached, for the 65th client, for a device that another
  // version of the program uses, and for what the system refuses.
  SimLedger(const std::string& name, int64_t total_bytes, const std::string& directory = kDirectory);
  ~SimLedger();
  SimLedger(const SimLedger&) = delete;
  SimLedger& operator=(const SimLedger&) = delete;

  int64_t total_bytes() const { return total_bytes_; }
  // Counts bytes for this client if they are free; false, and nothing changed, if not.
  bool take(int64_t bytes);
  // Before the end of a process that destroys no ledger: removes the file if all that are attached have left. What was
  // taken is still counted, and everything works as before; who attaches next may find a new, empty device.
  void leave();
  void give_back(int64_t bytes);
  SimBooks books() const;
  const std::string& path() const { return path_; }

  // In a forked child: forgets the ledger without a trace in it. take() and books() throw Error(device) from then on,
  // give_back() does nothing.
  void drop_in_child() noexcept;
  bool dropped() const { return file_ == nullptr; }

  // Runs `inside` with the books locked, as every change does. For tests that die there.
  void locked(const std::function<void()>& inside) const;

 private:
  class Locked;  // the books' mutex, held

  void lock_books() const;
  void unlock_books() const;
  bool open_file();
  void open_or_create(int64_t total_bytes);
  void settle_size(int64_t total_bytes);
  void refuse_other_form_in_use() const;
  void prepare_file();
  void take_slot();
  void close_file() noexcept;
  bool is_dead(int slot) const;
  void drop_dead() const;
  int clients() const;
  void remove_if_left() const;
  SimBooks sum() const;

  const std::string name_;
  const std::string path_;
  int descriptor_ = -1;
  SimLedgerFile* file_ = nullptr;
  int slot_ = -1;
  int64_t total_bytes_ = 0;
};

}  // namespace tidemark
