// What other processes of this machine hold in memory, measured process by process and not as a remainder.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

// Sum over all other visible processes of their resident pages that are no file's: what would be free without them.
// Pages that several processes share are counted once for each. `root` is put before /proc (tests).
int64_t other_processes_bytes(const std::string& root = "");

}  // namespace tidemark
