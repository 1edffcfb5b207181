// A file that a user named on the command line as what a command is to work on.
#pragma once

#include <string>

#include "base/error.h"

namespace tidemark::cli {

// read(path). A file that cannot be read is bad data, as one that is damaged: Error(io) becomes Error(data).
template <class Read>
auto read_input_file(const std::string& path, Read&& read) {
  try {
    return read(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::io) throw;
    throw Error(ErrorCode::data, error.what());
  }
}

}  // namespace tidemark::cli
