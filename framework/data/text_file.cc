#include "framework/data/text_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/error.h"
#include "framework/data/gzip.h"

namespace tidemark::data {
namespace {

constexpr int64_t kMaxTextBytes = int64_t{1} << 31;

// One file, or the files of a folder in the order of their names.
std::vector<std::string> text_files(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(path, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path().string());
  }
  if (error) throw Error(ErrorCode::io, "folder '" + path + "' cannot be read: " + error.message());
  if (files.empty()) throw Error(ErrorCode::data, "folder '" + path + "' holds no files");
  std::sort(files.begin(), files.end());
  return files;
}

// Length of the well-formed sequence at `at`, 0 if there is none.
size_t utf8_length(std::string_view text, size_t at) {
  const auto byte = [&](size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto continues = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = first == 0xED && byte(1) >= 0xA0;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && byte(1) < 0x90;
    const bool too_large = first == 0xF4 && byte(1) >= 0x90;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

}  // namespace

void read_texts(const std::string& path, const std::function<void(std::string_view)>& take) {
  int64_t bytes = 0;
  for (const std::string& file : text_files(path)) {
    const std::string text = read_maybe_gzip(file, kMaxTextBytes - bytes);
    if (text.empty()) throw Error(ErrorCode::data, file + ": offset 0: the text is empty");
    if (const int64_t at = find_invalid_utf8(text); at >= 0) {
      throw Error(ErrorCode::data, file + ": offset " + std::to_string(at) + " of the text: not valid UTF-8");
    }
    bytes += static_cast<int64_t>(text.size());
    take(text);
  }
}

int64_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return static_cast<int64_t>(at);
    at += length;
  }
  return -1;
}

}  // namespace tidemark::data
