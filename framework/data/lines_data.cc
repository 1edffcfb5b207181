#include "framework/data/lines_data.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/log.h"
#include "framework/data/text_file.h"

namespace tidemark::data {
namespace {

constexpr int32_t kLineFeed = '\n';

// Rows are numbered with 12 bits for the step: see packed_row_ids in ops/lstm.
constexpr int64_t kMostBytes = (1 << 12) - 1;

class Lines {
 public:
  Lines(const std::string& path, int64_t max_length) : max_length_(max_length) {
    read_texts(path, [&](std::string_view text) { add(text); });
    if (empty_ + too_long_ > 0) {
      log(LogLevel::info, "lines_left_out",
          {{"path", path}, {"kept", size()}, {"empty", empty_}, {"too_long", too_long_}, {"max_length", max_length}});
    }
  }

  int64_t size() const { return static_cast<int64_t>(begins_.size()); }
  int64_t too_long() const { return too_long_; }
  // Without its line feed.
  std::string_view at(uint32_t line) const {
    const size_t begin = begins_[line], end = line + 1 < begins_.size() ? begins_[line + 1] : text_.size();
    return std::string_view(text_).substr(begin, end - begin);
  }

 private:
  void add(std::string_view text) {
    while (!text.empty()) {
      const size_t end = std::min(text.find('\n'), text.size());
      add_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  void add_line(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const bool fits = static_cast<int64_t>(line.size()) <= max_length_;
    empty_ += line.empty();
    too_long_ += !fits;
    if (line.empty() || !fits) return;
    begins_.push_back(text_.size());
    text_ += line;
  }

  int64_t max_length_;
  std::string text_;  // the kept lines, one after the other
  std::vector<size_t> begins_;
  int64_t empty_ = 0, too_long_ = 0;
};

class LinesData : public Dataset {
 public:
  LinesData(const std::string& path, int64_t max_length, double eval_share) : lines_(path, max_length) {
    if (lines_.size() < 2) {
      throw Error(ErrorCode::data, path + ": has " + std::to_string(lines_.size()) + " lines of 1 to " +
                                       std::to_string(max_length) + " bytes (" + std::to_string(lines_.too_long()) +
                                       " are longer); training and evaluation need " +
                                       "one each: look at data.path and data.max_length");
    }
    split(eval_share);
    info_ = {.fields = {{"tokens", {DType::i32, {}}, true},
                        {"targets", {DType::i32, {}}, true},
                        {"lengths", {DType::i32, {}}}},
             .classes = 256,
             .kind = "lines",
             .packed = true};
  }

  const DataInfo& info() const override { return info_; }
  int64_t size(Split split) const override { return static_cast<int64_t>(of(split).size()); }
  int64_t length(Split split, int64_t index) const override {
    return static_cast<int64_t>(line(split, index).size()) + 1;
  }
  int64_t targets(Split split, int64_t index) const override { return length(split, index); }

  void read(Split split, int64_t index, std::span<std::byte* const> destinations) const override {
    TM_CHECK(index >= 0 && index < size(split) && destinations.size() == 3, "line " + std::to_string(index));
    const std::string_view bytes = line(split, index);
    int32_t token = kLineFeed;
    for (size_t i = 0; i <= bytes.size(); ++i) {
      const int32_t target = i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : kLineFeed;
      std::memcpy(destinations[0] + i * 4, &token, 4);
      std::memcpy(destinations[1] + i * 4, &target, 4);
      token = target;
    }
    const auto rows = static_cast<int32_t>(bytes.size() + 1);
    std::memcpy(destinations[2], &rows, 4);
  }

 private:
  // A line is kept for evaluation where the share of those before it falls behind: word lists are sorted, and their end
  // is not like the rest.
  void split(double eval_share) {
    const int64_t count = lines_.size();
    const int64_t wanted =
        std::clamp<int64_t>(static_cast<int64_t>(static_cast<double>(count) * eval_share), 1, count - 1);
    for (int64_t i = 0; i < count; ++i) {
      const bool eval = (i + 1) * wanted / count > i * wanted / count;
      (eval ? eval_ : train_).push_back(static_cast<uint32_t>(i));
    }
  }

  const std::vector<uint32_t>& of(Split split) const { return split == Split::train ? train_ : eval_; }
  std::string_view line(Split split, int64_t index) const { return lines_.at(of(split)[static_cast<size_t>(index)]); }

  Lines lines_;
  std::vector<uint32_t> train_, eval_;  // line numbers
  DataInfo info_;
};

}  // namespace

void LinesKind::fields(config::Fields& f) {
  f.path("path", path_, "Text file in UTF-8, plain or gzipped, or a folder of such: every line is a sample.", true);
  f.integer("max_length", max_length_, "Bytes of the longest line that is used; longer ones are left out.",
            {.min = 1, .max = kMostBytes});
  f.real("eval_share", eval_share_, "Share of the lines, spread over the text, that is kept for evaluation.",
         {.min = 0, .max = 1, .min_open = true, .max_open = true});
}

std::unique_ptr<Dataset> LinesKind::open(int64_t) const {
  return std::make_unique<LinesData>(path_, max_length_, eval_share_);
}

}  // namespace tidemark::data
