// Whole files that may be gzipped, unpacked in memory.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark::data {

// The contents of a file; unpacked if it starts with the gzip magic (also .dz, and several members in one file).
// Throws Error(io) if it cannot be read, Error(data) naming file and offset if it is cut short, damaged, followed by
// something else, or longer than `max_bytes` when unpacked.
std::string read_maybe_gzip(const std::string& path, int64_t max_bytes);

}  // namespace tidemark::data
