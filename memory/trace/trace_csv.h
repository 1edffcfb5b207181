// The CSV form of a trace. Its plain subset is MiniMalloc's public format: header `id,lower,upper,size`, lifetimes
// half-open.
//
// Full header: id,lower,upper,size[,alignment][,gaps][,category][,scope][,offset][,alias_group] in any order; unknown
// columns are refused. `gaps` is a space-separated list of begin-end ranges inside [lower, upper) in which the bytes
// are free. Empty cells of optional columns mean the default. Reads of a written trace give the same trace.
#pragma once

#include <iosfwd>
#include <string>

#include "memory/trace/trace.h"

namespace tidemark::memory {

// Throws Error(data) "FILE:LINE: column 'size': ..." with the offending text. `name` is used in messages.
Trace read_csv(std::istream& in, const std::string& name);
Trace read_csv_file(const std::string& path);  // Error(io) if it cannot be opened

// Writes the plain subset if the trace needs no more, else the full form.
void write_csv(const Trace& trace, std::ostream& out);

}  // namespace tidemark::memory
