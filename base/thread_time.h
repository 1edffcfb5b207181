// CPU time of the calling thread: what a neighbour on the same cores does not stretch.
#pragma once

#include <time.h>

namespace tidemark {

inline double thread_cpu_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace tidemark
