#include "memory/c_api/tidemark_memory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/error.h"
#include "device/device.h"
#include "device/sim/sim_memory.h"
#include "memory/allocator/caching_allocator.h"
#include "memory/pages/page_pool.h"

namespace tidemark::memory {
namespace {

thread_local std::string last_error;

// A device with its allocator. Never destroyed: other programs free blocks at any time up to their end.
class Entry {
 public:
  explicit Entry(const std::string& setting)
      : choice_(choose_device(setting)), device_(make_device_memory(choice_)), pool_(*device_), allocator_(pool_) {}

  DeviceMemory& device() { return *device_; }
  CachingAllocator& allocator() { return allocator_; }

  // Pages that lie in the pool are nobody else's: they are cached, too.
  AllocatorStats stats() const {
    AllocatorStats stats = allocator_.stats();
    const int64_t pooled_bytes = pool_.cached_bytes();
    stats.cached_bytes += pooled_bytes;
    stats.reserved_bytes += pooled_bytes;
    stats.reserved_peak_bytes = std::max(stats.reserved_peak_bytes, stats.reserved_bytes);
    return stats;
  }

  // What has no end of its own must not outlast the process: the books of a simulated device.
  void end() noexcept {
    if (choice_.kind != DeviceKind::sim) return;
    try {
      static_cast<SimMemory&>(*device_).leave();
    } catch (const Error&) {
      // The next process that looks tidies up.
    }
  }

  int64_t empty_cache() {
    const int64_t released_bytes = allocator_.trim(0);
    return released_bytes + pool_.trim(0);
  }

  // nullptr where the device has no streams. A handle is wrapped once and kept: programs have few streams and reuse
  // them.
  Stream* stream(void* handle) {
    if (choice_.kind != DeviceKind::cuda) return nullptr;
    const std::lock_guard lock(streams_mutex_);
    std::unique_ptr<Stream>& stream = streams_[handle];
    if (!stream) stream = wrap_stream(choice_, handle);
    return stream.get();
  }

  void forget_stream(void* handle) {
    const std::lock_guard lock(streams_mutex_);
    const auto found = streams_.find(handle);
    if (found == streams_.end()) return;
    allocator_.forget(*found->second);
    streams_.erase(found);
  }

 private:
  const DeviceChoice choice_;
  const std::unique_ptr<DeviceMemory> device_;
  PagePool pool_;
  CachingAllocator allocator_;
  std::mutex streams_mutex_;
  std::map<void*, std::unique_ptr<Stream>> streams_;
};

class Entries {
 public:
  static Entries& instance() {
    static Entries* const entries = new Entries;
    return *entries;
  }

  // Opens the device at its first use.
  Entry& get(int device) {
    const std::lock_guard lock(mutex_);
    std::unique_ptr<Entry>& entry = entries_[device];
    if (entry) return *entry;
    entry = std::make_unique<Entry>(setting_of(device));
    end_with_process();
    return *entry;
  }

  void use(int device, const std::string& setting) {
    if (device < 0) throw Error(ErrorCode::config, "device " + std::to_string(device) + " is no number of a device");
    parse_device_setting(setting);
    const std::lock_guard lock(mutex_);
    if (entries_[device]) {
      throw Error(ErrorCode::config, "device " + std::to_string(device) +
                                         " is in use already; call tidemark_use_device() before its first use");
    }
    settings_[device] = setting;
  }

 private:
  // Frees and requests may still come after this: destructors of the program's statics.
  void end_with_process() {
    if (ended_by_ == ::getpid()) return;
    ended_by_ = ::getpid();
    std::atexit([] { instance().end(); });
  }

  // A forked child inherits the call, but not the devices, nor maybe a mutex that anybody will unlock.
  void end() {
    if (ended_by_ != ::getpid()) return;
    const std::lock_guard lock(mutex_);
    for (auto& [number, entry] : entries_)
      if (entry) entry->end();
  }

  std::string setting_of(int device) const {
    const auto found = settings_.find(device);
    if (found != settings_.end()) return found->second;
    const char* from_environment = std::getenv("TIDEMARK_DEVICE");
    if (device == 0 && from_environment) return from_environment;
    return "cuda:" + std::to_string(device);
  }

  std::mutex mutex_;
  std::atomic<pid_t> ended_by_ = 0;  // the process that calls end() at its end
  std::map<int, std::unique_ptr<Entry>> entries_;
  std::map<int, std::string> settings_;
};

// Nothing may be thrown into a program in C.
template <class Result, class Function>
Result guarded(Result failed, Function&& function) noexcept {
  try {
    last_error.clear();
    return function();
  } catch (const std::exception& e) {
    last_error = e.what();
    return failed;
  }
}

}  // namespace
}  // namespace tidemark::memory

using tidemark::memory::Entries;
using tidemark::memory::Entry;
using tidemark::memory::guarded;

void* tidemark_alloc(ptrdiff_t bytes, int device, void* stream) {
  return guarded<void*>(nullptr, [&]() -> void* {
    if (bytes == 0) return nullptr;
    if (bytes < 0) {
      throw tidemark::Error(tidemark::ErrorCode::config, "tidemark_alloc of " + std::to_string(bytes) + " bytes");
    }
    Entry& entry = Entries::instance().get(device);
    return entry.allocator().allocate({.bytes = bytes, .stream = entry.stream(stream)});
  });
}

void tidemark_free(void* address, ptrdiff_t, int device, void* stream) {
  guarded(0, [&] {
    if (!address) return 0;
    Entry& entry = Entries::instance().get(device);
    auto* const block = static_cast<std::byte*>(address);
    if (tidemark::Stream* last_user = entry.stream(stream)) entry.allocator().record_use(block, *last_user);
    entry.allocator().deallocate(block);
    return 0;
  });
}

int tidemark_forget_stream(int device, void* stream) {
  return guarded(-1, [&] {
    Entries::instance().get(device).forget_stream(stream);
    return 0;
  });
}

int tidemark_use_device(int device, const char* setting) {
  return guarded(-1, [&] {
    Entries::instance().use(device, setting ? setting : "");
    return 0;
  });
}

int tidemark_set_limit(int device, int64_t bytes) {
  return guarded(-1, [&] {
    if (bytes < 0) throw tidemark::Error(tidemark::ErrorCode::config, "a limit below 0");
    Entries::instance().get(device).device().set_limit_bytes(bytes);
    return 0;
  });
}

int tidemark_get_stats(int device, tidemark_memory_stats* stats) {
  return guarded(-1, [&] {
    if (!stats) throw tidemark::Error(tidemark::ErrorCode::config, "tidemark_get_stats: stats is NULL");
    const tidemark::memory::AllocatorStats now = Entries::instance().get(device).stats();
    *stats = {now.requested_bytes,   now.allocated_bytes, now.reserved_bytes,       now.cached_bytes,
              now.pending_bytes,     now.slack_bytes,     now.allocated_peak_bytes, now.reserved_peak_bytes,
              now.device_free_bytes, now.out_of_memory};
    return 0;
  });
}

int64_t tidemark_empty_cache(int device) {
  return guarded<int64_t>(-1, [&] { return Entries::instance().get(device).empty_cache(); });
}

const char* tidemark_last_error(void) { return tidemark::memory::last_error.c_str(); }
