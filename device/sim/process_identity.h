// Which process a number meant when it was written down: numbers are used again.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace tidemark {

struct ProcessIdentity {
  int64_t pid = 0;             // 0: no process
  uint64_t pid_namespace = 0;  // numbers of another namespace say nothing here
  uint64_t start_ticks = 0;    // since the machine's start
};

ProcessIdentity this_process();

// True if that process has surely ended, all its threads with it (one that waits to be reaped has). False for processes
// of other namespaces and where /proc cannot be read.
bool has_ended(const ProcessIdentity& process);

}  // namespace tidemark
