#include "framework/checkpoint/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "base/sha256.h"

namespace tidemark::checkpoint {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw Error(ErrorCode::io, what + " '" + path + "': " + std::generic_category().message(errno));
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) fail("cannot open", path_);
  struct stat status;
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw Error(ErrorCode::io, "'" + path_ + "' is no regular file");
  }
  bytes_ = status.st_size;
}

InputFile::~InputFile() { ::close(descriptor_); }

void InputFile::read_at(int64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t got = ::pread(descriptor_, target.data(), target.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path_);
    if (got == 0) throw Error(ErrorCode::data, path_ + ": offset " + std::to_string(offset) + ": the file ends");
    target = target.subspan(static_cast<size_t>(got));
    offset += got;
  }
}

std::string file_sha256(const InputFile& file) {
  std::vector<std::byte> buffer(1 << 18);
  Sha256 digest;
  for (int64_t offset = 0; offset < file.bytes();) {
    const int64_t count = std::min<int64_t>(static_cast<int64_t>(buffer.size()), file.bytes() - offset);
    const std::span<std::byte> part(buffer.data(), static_cast<size_t>(count));
    file.read_at(offset, part);
    digest.update(part.data(), part.size());
    offset += count;
  }
  return digest.finish_hex();
}

}  // namespace tidemark::checkpoint
