// A file that a user asked for on the command line.
#pragma once

#include <fstream>
#include <string>

#include "base/error.h"
#include "base/log.h"

namespace tidemark::cli {

// Opens `path` anew and closes it, empty: before a long run that writes it at its end. Throws Error(io).
inline void refuse_unwritable(const std::string& path) {
  if (!std::ofstream(path)) throw Error(ErrorCode::io, "cannot write '" + path + "'");
}

// Opens `path` anew, gives it to write(std::ostream&), and logs that it is there. Throws Error(io) if the bytes cannot
// all be written.
template <class Write>
void write_output_file(const std::string& path, Write&& write) {
  std::ofstream file(path);
  write(file);
  file.close();
  if (!file) throw Error(ErrorCode::io, "cannot write '" + path + "'");
  log(LogLevel::info, "file_written", {{"path", path}});
}

}  // namespace tidemark::cli
