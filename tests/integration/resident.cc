#include "tests/integration/resident.h"

#include <unistd.h>

#include <cstdlib>

#include "base/file.h"

namespace tidemark::tests {

int64_t resident_bytes() {
  const std::string statm = read_file("/proc/self/statm");  // total pages, then resident ones
  return std::strtoll(statm.c_str() + statm.find(' '), nullptr, 10) * ::sysconf(_SC_PAGESIZE);
}

}  // namespace tidemark::tests
