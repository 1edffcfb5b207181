// A file that a user asked for on the command line.
#pragma once

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include "base/error.h"
#include "base/log.h"

namespace tidemark::cli {

[[noreturn]] inline void refuse_output(const std::string& path) {
  const int reason = errno;
  throw Error(ErrorCode::io,
              "cannot write '" + path + "'" + (reason == 0 ? "" : ": " + std::generic_category().message(reason)));
}

// Opens `path` anew and closes it, empty: before a long run that writes it at its end. Throws Error(io).
inline void refuse_unwritable(const std::string& path) {
  errno = 0;
  if (!std::ofstream(path)) refuse_output(path);
}

// Opens `path` anew, gives it to write(std::ostream&), and logs that it is there. Throws Error(io) if the bytes cannot
// all be written.
template <class Write>
void write_output_file(const std::string& path, Write&& write) {
  errno = 0;
  std::ofstream file(path);
  if (!file) refuse_output(path);
  write(file);
  file.close();
  if (!file) refuse_output(path);
  log(LogLevel::info, "file_written", {{"path", path}});
}

}  // namespace tidemark::cli
