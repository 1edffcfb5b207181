// What a shell may hand over: closed streams, full disks, limits of file size.
#pragma once

namespace tidemark::cli {

// Call first. Closed standard streams become the null device, so that no file of ours gets their numbers and then what
// is printed. A write beyond the limit of file size becomes an error of that write instead of the end of the process.
void prepare_streams();

// Call last. Throws Error(io) if some of what went to standard output did not arrive.
void finish_output();

}  // namespace tidemark::cli
