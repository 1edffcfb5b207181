// A file that a user asked for on the command line.
#pragma once

#include <fstream>
#include <string>

#include "base/error.h"

namespace tidemark::cli {

// Opens `path` anew and gives it to write(std::ostream&). Throws Error(io) if the bytes cannot all be written.
template <class Write>
void write_output_file(const std::string& path, Write&& write) {
  std::ofstream file(path);
  write(file);
  file.close();
  if (!file) throw Error(ErrorCode::io, "cannot write '" + path + "'");
}

}  // namespace tidemark::cli
