#include "device/sim/process_identity.h"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <sstream>
#include <string>

#include "base/error.h"
#include "base/file.h"

namespace tidemark {
namespace {

uint64_t own_pid_namespace() {
  static const uint64_t number = [] {
    struct stat status = {};
    return ::stat("/proc/self/ns/pid", &status) == 0 ? static_cast<uint64_t>(status.st_ino) : 0;
  }();
  return number;
}

struct ProcessState {
  char letter = '?';
  int64_t threads = 0;
  uint64_t start_ticks = 0;
};

// From /proc/PID/stat: "pid (name) state ...", the 20th field counts threads, the start is the 22nd. A name can hold
// anything, so the last parenthesis ends it.
std::optional<ProcessState> read_state(int64_t pid) {
  try {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/stat");
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream fields(text.substr(name_end + 1));
    ProcessState state;
    fields >> state.letter;
    std::string skipped;
    for (int field = 4; field < 20; ++field) fields >> skipped;
    if (!(fields >> state.threads >> skipped >> state.start_ticks)) return std::nullopt;
    return state;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

ProcessIdentity this_process() {
  const std::optional<ProcessState> state = read_state(::getpid());
  return {::getpid(), own_pid_namespace(), state ? state->start_ticks : 0};
}

bool has_ended(const ProcessIdentity& process) {
  if (process.pid_namespace == 0 || process.pid_namespace != own_pid_namespace()) return false;
  if (::kill(static_cast<pid_t>(process.pid), 0) != 0 && errno == ESRCH) return true;
  const std::optional<ProcessState> state = read_state(process.pid);
  if (!state || process.start_ticks == 0) return false;
  if (state->start_ticks != process.start_ticks) return true;
  // The letter is that of the first thread; while others run, or are still ending, the memory is there.
  return (state->letter == 'Z' || state->letter == 'X') && state->threads <= 1;
}

}  // namespace tidemark
