#include "framework/data/idx_file.h"

#include "base/error.h"
#include "framework/data/gzip.h"

namespace tidemark::data {
namespace {

constexpr int64_t kMaxItems = 1 << 24;

[[noreturn]] void refuse(const std::string& path, int64_t offset, const std::string& what) {
  throw Error(ErrorCode::data, path + ": offset " + std::to_string(offset) + ": " + what);
}

int64_t big_endian(const std::string& bytes, size_t offset) {
  int64_t value = 0;
  for (size_t i = 0; i < 4; ++i) value = value << 8 | static_cast<unsigned char>(bytes[offset + i]);
  return value;
}

int64_t product(const std::vector<int64_t>& dims) {
  int64_t result = 1;
  for (const int64_t dim : dims) result *= dim;
  return result;
}

}  // namespace

IdxFile read_idx(const std::string& path, const std::vector<int64_t>& item_dims) {
  const size_t rank = item_dims.size() + 1;
  const size_t header_bytes = 4 + 4 * rank;
  const int64_t item_bytes = product(item_dims);
  IdxFile file;
  file.bytes = read_maybe_gzip(path, static_cast<int64_t>(header_bytes) + kMaxItems * item_bytes);
  if (file.bytes.size() < header_bytes) {
    refuse(path, static_cast<int64_t>(file.bytes.size()), "the file ends inside the header");
  }
  const int64_t wanted_magic = 0x0800 + static_cast<int64_t>(rank);  // 08: unsigned bytes
  if (big_endian(file.bytes, 0) != wanted_magic) {
    refuse(path, 0,
           "magic number is " + std::to_string(big_endian(file.bytes, 0)) + ", an IDX file of " + std::to_string(rank) +
               " dimensions has " + std::to_string(wanted_magic));
  }
  for (size_t i = 0; i < rank; ++i) {
    const int64_t dim = big_endian(file.bytes, 4 + 4 * i);
    const bool right = i == 0 ? dim >= 1 && dim <= kMaxItems : dim == item_dims[i - 1];
    if (!right) {
      const std::string wanted = i == 0 ? "1 to " + std::to_string(kMaxItems) : std::to_string(item_dims[i - 1]);
      refuse(path, static_cast<int64_t>(4 + 4 * i),
             "dimension " + std::to_string(i) + " is " + std::to_string(dim) + ", wanted " + wanted);
    }
    file.dims.push_back(dim);
  }
  const int64_t wanted_bytes = product(file.dims);
  file.bytes.erase(0, header_bytes);
  if (static_cast<int64_t>(file.bytes.size()) != wanted_bytes) {
    refuse(path, static_cast<int64_t>(header_bytes + file.bytes.size()),
           "holds " + std::to_string(file.bytes.size()) + " bytes of data, its dimensions say " +
               std::to_string(wanted_bytes));
  }
  return file;
}

}  // namespace tidemark::data
