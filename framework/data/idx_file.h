// IDX files, the form of the MNIST family: a magic number, big-endian dimensions, then unsigned bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::data {

struct IdxFile {
  std::vector<int64_t> dims;
  std::string bytes;  // row-major, as many as the product of dims

  int64_t items() const { return dims[0]; }
};

// Reads PATH, gzipped or not, with `rank` dimensions of unsigned bytes, `item_dims` being all but the first. Throws
// Error(data) naming file and offset for a wrong magic number, other dimensions, no items, or a wrong length.
IdxFile read_idx(const std::string& path, const std::vector<int64_t>& item_dims);

}  // namespace tidemark::data
