#include "device/after_fork.h"

#include <pthread.h>

#include <map>
#include <mutex>
#include <utility>

#include "base/error.h"

namespace tidemark {
namespace {

// State of the process, because pthread_atfork takes plain functions and never forgets them. Never destroyed: a fork
// can happen after main().
struct Registry {
  std::mutex mutex;  // held during a fork, so that the child finds it whole
  std::map<int64_t, std::function<void()>> functions;
  int64_t next = 0;
};

Registry& registry() {
  static Registry* const the_registry = [] {
    auto* made = new Registry;
    const int error = ::pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                                       [] {
                                         for (const auto& [number, function] : registry().functions) function();
                                         registry().mutex.unlock();
                                       });
    TM_CHECK(error == 0, "pthread_atfork: error " + std::to_string(error));
    return made;
  }();
  return *the_registry;
}

}  // namespace

AfterFork::AfterFork(std::function<void()> in_child) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  number_ = all.next++;
  all.functions[number_] = std::move(in_child);
}

AfterFork::~AfterFork() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  all.functions.erase(number_);
}

}  // namespace tidemark
