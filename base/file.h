// Whole files: reading, and replacing so that a reader or a crash never sees half of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark {

// The whole file. Throws Error(io) that names the path and the system's reason.
std::string read_file(const std::string& path);

// Makes a directory's entries (new names, renames, removals) durable. Throws Error(io).
void sync_directory(const std::string& path);

// Writes a file aside, as PATH.partial, and puts it in place of PATH in one step: after a crash at any point PATH is
// the old file or the new one, whole. A left-over PATH.partial is overwritten by the next writer; two writers at once
// are not supported. Every failure throws Error(io) that names the path and the system's reason.
class FileReplacement {
 public:
  explicit FileReplacement(std::string path);
  // Removes the partial file unless committed.
  ~FileReplacement();
  FileReplacement(const FileReplacement&) = delete;
  FileReplacement& operator=(const FileReplacement&) = delete;

  void write(const void* data, size_t bytes);
  // Flushes to the device, renames, flushes the directory. Call once, last.
  void commit();

  int64_t written_bytes() const { return written_bytes_; }

 private:
  std::string path_;
  std::string partial_path_;
  int descriptor_ = -1;
  int64_t written_bytes_ = 0;
};

// FileReplacement in one call.
void replace_file(const std::string& path, std::string_view contents);

}  // namespace tidemark
