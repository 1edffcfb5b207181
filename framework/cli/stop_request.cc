#include "framework/cli/stop_request.h"

#include <csignal>

namespace tidemark::cli {
namespace {

// A signal handler reaches nothing that is not global.
std::atomic<bool> requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void request_stop(int signal) {
  if (requested.exchange(true)) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void take_stop_signals() {
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
}

const std::atomic<bool>& stop_requested() { return requested; }

}  // namespace tidemark::cli
