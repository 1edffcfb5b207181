// A file read at offsets, so that no tensor is copied on its way to where it belongs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tidemark::checkpoint {

class InputFile {
 public:
  // Throws Error(io) that names the path and the system's reason.
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t bytes() const { return bytes_; }
  // Fills `target` from `offset` on. Throws Error(io), Error(data) if the file ends before.
  void read_at(int64_t offset, std::span<std::byte> target) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

// Digest of the whole file, 64 hexadecimal digits; reads it in pieces.
std::string file_sha256(const InputFile& file);

}  // namespace tidemark::checkpoint
