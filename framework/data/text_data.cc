#include "framework/data/text_data.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

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

std::string read_text(const std::string& path) {
  std::string text;
  for (const std::string& file : text_files(path)) {
    const std::string part = read_maybe_gzip(file, kMaxTextBytes - static_cast<int64_t>(text.size()));
    if (part.empty()) throw Error(ErrorCode::data, file + ": offset 0: the text is empty");
    if (const int64_t at = find_invalid_utf8(part); at >= 0) {
      throw Error(ErrorCode::data, file + ": offset " + std::to_string(at) + " of the text: not valid UTF-8");
    }
    text += part;
  }
  return text;
}

class TextData : public Dataset {
 public:
  TextData(const std::string& path, int64_t context, double eval_share) : context_(context), text_(read_text(path)) {
    const auto bytes = static_cast<int64_t>(text_.size());
    constexpr int64_t kLeastBytes = 4;  // a token and its target for each split
    if (bytes < kLeastBytes) {
      throw Error(ErrorCode::data, path + ": offset " + std::to_string(bytes) + ": the text ends; training and " +
                                       "evaluation need " + std::to_string(kLeastBytes) + " bytes at least");
    }
    const auto eval_bytes = static_cast<int64_t>(static_cast<double>(bytes) * eval_share);
    train_bytes_ = bytes - std::clamp<int64_t>(eval_bytes, 2, bytes - 2);
    info_ = {.fields = {{"tokens", {DType::i32, {context}}}, {"targets", {DType::i32, {context}}}},
             .classes = 256,
             .kind = "text"};
  }

  const DataInfo& info() const override { return info_; }

  int64_t size(Split split) const override { return (predicted(split) + context_ - 1) / context_; }

  int64_t targets(Split split, int64_t index) const override {
    return std::min(context_, predicted(split) - index * context_);
  }

  void read(Split split, int64_t index, std::span<std::byte* const> destinations) const override {
    TM_CHECK(index >= 0 && index < size(split) && destinations.size() == 2, "window " + std::to_string(index));
    const std::string_view window = part(split).substr(static_cast<size_t>(index * context_));
    const int64_t count = targets(split, index);
    for (int64_t i = 0; i < context_; ++i) {
      const auto at = static_cast<size_t>(i);
      const int32_t token = i < count ? static_cast<unsigned char>(window[at]) : 0;
      const int32_t target = i < count ? static_cast<unsigned char>(window[at + 1]) : -1;
      std::memcpy(destinations[0] + i * 4, &token, 4);
      std::memcpy(destinations[1] + i * 4, &target, 4);
    }
  }

 private:
  std::string_view part(Split split) const {
    const std::string_view text = text_;
    const auto cut = static_cast<size_t>(train_bytes_);
    return split == Split::train ? text.substr(0, cut) : text.substr(cut);
  }

  // Tokens that have a target: all but the last of the split.
  int64_t predicted(Split split) const { return static_cast<int64_t>(part(split).size()) - 1; }

  int64_t context_;
  std::string text_;
  int64_t train_bytes_ = 0;
  DataInfo info_;
};

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

int64_t find_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t length = utf8_length(text, at);
    if (length == 0) return static_cast<int64_t>(at);
    at += length;
  }
  return -1;
}

void TextKind::fields(config::Fields& f) {
  f.path("path", path_, "Text file in UTF-8, plain or gzipped, or a folder whose files are read in order of name.",
         true);
  f.choice("tokenizer", tokenizer_, "How text becomes tokens; bytes: each byte is one of 256.", {"bytes"});
  f.real("eval_share", eval_share_, "Share of the text, from its end, that is kept for evaluation.",
         {.min = 0, .max = 1, .min_open = true, .max_open = true});
}

std::unique_ptr<Dataset> TextKind::open(int64_t context) const {
  if (context < 1) throw Error(ErrorCode::config, "data kind 'text' needs a model with a context length, such as gpt");
  return std::make_unique<TextData>(path_, context, eval_share_);
}

}  // namespace tidemark::data
