#include "framework/data/text_data.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "framework/data/text_file.h"

namespace tidemark::data {
namespace {

std::string read_text(const std::string& path) {
  std::string text;
  read_texts(path, [&](std::string_view part) { text += part; });
  return text;
}

DataInfo windows_of(int64_t context) {
  return {.fields = {{"tokens", {DType::i32, {context}}}, {"targets", {DType::i32, {context}}}},
          .classes = 256,
          .kind = "text"};
}

class TextData : public Dataset {
 public:
  TextData(const std::string& path, int64_t context, double eval_share)
      : context_(context), text_(read_text(path)), info_(windows_of(context)) {
    const auto bytes = static_cast<int64_t>(text_.size());
    constexpr int64_t kLeastBytes = 4;  // a token and its target for each split
    if (bytes < kLeastBytes) {
      throw Error(ErrorCode::data, path + ": offset " + std::to_string(bytes) + ": the text ends; training and " +
                                       "evaluation need " + std::to_string(kLeastBytes) + " bytes at least");
    }
    const auto eval_bytes = static_cast<int64_t>(static_cast<double>(bytes) * eval_share);
    train_bytes_ = bytes - std::clamp<int64_t>(eval_bytes, 2, bytes - 2);
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

}  // namespace

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

std::optional<DataInfo> TextKind::known_info(int64_t context) const { return windows_of(context); }

}  // namespace tidemark::data
