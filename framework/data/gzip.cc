#include "framework/data/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/file.h"

namespace tidemark::data {
namespace {

class Inflater {
 public:
  Inflater(const std::string& path, std::string_view packed, int64_t max_bytes)
      : path_(path), packed_(packed), max_bytes_(max_bytes) {
    constexpr int kGzipOnly = 16 + MAX_WBITS;
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) throw Error(ErrorCode::io, path_ + ": zlib has no memory");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  std::string run() {
    std::string out;
    while (offset_ < packed_.size()) {
      if (!starts_member()) refuse("something that is no gzip data follows");
      inflate_member(out);
    }
    return out;
  }

 private:
  bool starts_member() const { return packed_.substr(offset_, 2) == "\x1f\x8b"; }

  void inflate_member(std::string& out) {
    inflateReset(&stream_);
    char buffer[1 << 16];
    int result = Z_OK;
    while (result != Z_STREAM_END) {
      if (offset_ == packed_.size()) refuse("the gzip data is cut short");
      const size_t given = std::min<size_t>(packed_.size() - offset_, 1 << 20);  // avail_in is 32 bits wide
      stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed_.data() + offset_));
      stream_.avail_in = static_cast<uInt>(given);
      stream_.next_out = reinterpret_cast<Bytef*>(buffer);
      stream_.avail_out = sizeof buffer;
      result = inflate(&stream_, Z_NO_FLUSH);
      offset_ += given - stream_.avail_in;
      if (result != Z_OK && result != Z_STREAM_END) {
        refuse(std::string("the gzip data is damaged: ") + (stream_.msg != nullptr ? stream_.msg : "no progress"));
      }
      out.append(buffer, sizeof buffer - stream_.avail_out);
      if (static_cast<int64_t>(out.size()) > max_bytes_) {
        refuse("unpacks to more than the " + std::to_string(max_bytes_) + " bytes that are allowed here");
      }
    }
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::data, path_ + ": offset " + std::to_string(offset_) + ": " + what);
  }

  const std::string& path_;
  std::string_view packed_;
  int64_t max_bytes_;
  size_t offset_ = 0;
  z_stream stream_{};
};

}  // namespace

std::string read_maybe_gzip(const std::string& path, int64_t max_bytes) {
  std::string contents = read_file(path);
  if (contents.starts_with("\x1f\x8b")) return Inflater(path, contents, max_bytes).run();
  if (static_cast<int64_t>(contents.size()) > max_bytes) {
    throw Error(ErrorCode::data, path + ": offset " + std::to_string(max_bytes) + ": the file is longer than allowed");
  }
  return contents;
}

}  // namespace tidemark::data
