#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "base/error.h"

namespace tidemark {
namespace {

[[noreturn]] void fail(const std::string& what, const std::string& path) {
  throw Error(ErrorCode::io, what + " '" + path + "': " + std::generic_category().message(errno));
}

// A descriptor that is closed on every way out; for those whose close cannot lose data.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return value_; }

 private:
  int value_;
};

std::string parent_directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

std::string read_file(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) fail("cannot open", path);
  struct stat status;
  if (::fstat(file.get(), &status) != 0) fail("cannot read", path);

  // The size is only a guess: files of /proc say 0. One byte more lets the last read see the end.
  std::string contents(static_cast<size_t>(status.st_size) + 1, '\0');
  size_t filled = 0;
  while (true) {
    if (filled == contents.size()) contents.resize(2 * contents.size() + 4096);
    const ssize_t got = ::read(file.get(), contents.data() + filled, contents.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail("cannot read", path);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  contents.resize(filled);
  return contents;
}

void sync_directory(const std::string& path) {
  const Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0) fail("cannot open directory", path);
  // Some file systems (FUSE, network) refuse to flush directories and order renames themselves.
  if (::fsync(directory.get()) != 0 && errno != EINVAL) fail("cannot flush directory", path);
}

FileReplacement::FileReplacement(std::string path) : path_(std::move(path)), partial_path_(path_ + ".partial") {
  descriptor_ = ::open(partial_path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail("cannot create", partial_path_);
}

FileReplacement::~FileReplacement() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(partial_path_.c_str());
}

void FileReplacement::write(const void* data, size_t bytes) {
  TM_CHECK(descriptor_ >= 0, "write to '" + path_ + "' after commit");
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t put = ::write(descriptor_, at, bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) fail("cannot write", partial_path_);
    at += put;
    bytes -= static_cast<size_t>(put);
    written_bytes_ += put;
  }
}

void FileReplacement::commit() {
  TM_CHECK(descriptor_ >= 0, "commit of '" + path_ + "' twice");
  if (::fsync(descriptor_) != 0) fail("cannot flush", partial_path_);
  if (::rename(partial_path_.c_str(), path_.c_str()) != 0) fail("cannot rename to", path_);
  ::close(std::exchange(descriptor_, -1));
  sync_directory(parent_directory(path_));
}

void replace_file(const std::string& path, std::string_view contents) {
  FileReplacement file(path);
  file.write(contents.data(), contents.size());
  file.commit();
}

}  // namespace tidemark
