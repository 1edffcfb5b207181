// The files of Note [Page file], opened.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

struct OpenedFile {
  int descriptor = -1;  // the caller closes it; -1: not to be had
  std::string refusal;  // the call that failed and the system's reason
};

// A file without a name on a tmpfs that is mounted nowhere, with huge pages and room for so many bytes.
OpenedFile open_tmpfs_file(int64_t bytes);

// An anonymous file of so many bytes that can neither shrink nor grow.
OpenedFile open_sealed_memfd(int64_t bytes);

}  // namespace tidemark
