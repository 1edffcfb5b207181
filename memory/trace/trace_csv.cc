#include "memory/trace/trace_csv.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <istream>
#include <ostream>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.h"

namespace tidemark::memory {
namespace {

enum Column { kId, kLower, kUpper, kSize, kAlignment, kGaps, kCategory, kScope, kOffset, kAliasGroup, kColumnCount };

constexpr std::array<std::string_view, kColumnCount> kColumnNames = {
    "id", "lower", "upper", "size", "alignment", "gaps", "category", "scope", "offset", "alias_group"};
constexpr int kRequiredColumns = 4;

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

void split_cells(std::string_view line, std::vector<std::string_view>& cells) {
  cells.clear();
  while (true) {
    const size_t comma = line.find(',');
    cells.push_back(trimmed(line.substr(0, comma)));
    if (comma == std::string_view::npos) return;
    line.remove_prefix(comma + 1);
  }
}

class Reader {
 public:
  Reader(std::istream& in, const std::string& name) : in_(in) { trace_.name = name; }

  Trace read() {
    const bool has_header = next_line();
    if (in_.bad()) throw Error(ErrorCode::io, trace_.name + ": cannot be read");
    if (!has_header)
      throw Error(ErrorCode::data, trace_.name + ": is empty; the first line must be id,lower,upper,size");
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // spreadsheets write it
    if (line_.starts_with(kByteOrderMark)) line_.erase(0, kByteOrderMark.size());
    read_header();
    while (next_line()) {
      if (!trimmed(line_).empty()) read_row();
    }
    validate(trace_);
    return std::move(trace_);
  }

 private:
  bool next_line() {
    ++line_number_;
    return static_cast<bool>(std::getline(in_, line_));
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(ErrorCode::data, trace_.name + ":" + std::to_string(line_number_) + ": " + what);
  }

  [[noreturn]] void refuse_cell(Column column, std::string_view cell, const std::string& what) const {
    refuse("column '" + std::string(kColumnNames[column]) + "': '" + std::string(cell) + "' " + what);
  }

  void read_header() {
    split_cells(line_, cells_);
    position_.fill(-1);
    for (size_t i = 0; i < cells_.size(); ++i) {
      const auto found = std::find(kColumnNames.begin(), kColumnNames.end(), cells_[i]);
      if (found == kColumnNames.end()) {
        refuse("unknown column '" + std::string(cells_[i]) +
               "'; known are id,lower,upper,size,alignment,gaps,category,scope,offset,alias_group");
      }
      int& position = position_[found - kColumnNames.begin()];
      if (position >= 0) refuse("column '" + std::string(cells_[i]) + "' appears twice");
      position = static_cast<int>(i);
    }
    column_count_ = cells_.size();
    for (int column = 0; column < kRequiredColumns; ++column) {
      if (position_[column] < 0) refuse("column '" + std::string(kColumnNames[column]) + "' is missing");
    }
  }

  std::string_view cell(Column column) const {
    return position_[column] < 0 ? std::string_view() : cells_[position_[column]];
  }

  int64_t integer(Column column) const {
    const std::string_view text = cell(column);
    int64_t value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (code == std::errc::result_out_of_range) refuse_cell(column, text, "does not fit into 64 bits");
    if (code != std::errc() || end != text.data() + text.size()) refuse_cell(column, text, "is no whole number");
    return value;
  }

  void read_row() {
    split_cells(line_, cells_);
    if (cells_.size() != column_count_) {
      refuse("has " + std::to_string(cells_.size()) + " cells, the header has " + std::to_string(column_count_));
    }
    Buffer buffer;
    buffer.id = integer(kId);
    const auto [first, is_new] = line_of_id_.emplace(buffer.id, line_number_);
    if (!is_new) refuse_cell(kId, cell(kId), "appears twice, first in line " + std::to_string(first->second));
    buffer.bytes = integer(kSize);
    if (buffer.bytes <= 0) refuse_cell(kSize, cell(kSize), "must be > 0");
    read_intervals(buffer);
    read_optional(buffer);
    check_row(buffer);
    trace_.buffers.push_back(std::move(buffer));
  }

  void read_intervals(Buffer& buffer) const {
    const int64_t lower = integer(kLower), upper = integer(kUpper);
    if (upper <= lower) refuse_cell(kUpper, cell(kUpper), "must be greater than lower " + std::to_string(lower));
    int64_t begin = lower;
    std::string_view rest = cell(kGaps);
    while (!rest.empty()) {
      const size_t space = rest.find(' ');
      const Interval gap = read_gap(rest.substr(0, space));
      rest = space == std::string_view::npos ? std::string_view() : trimmed(rest.substr(space));
      if (gap.begin <= begin || gap.begin > gap.end || gap.end >= upper) {
        refuse_cell(kGaps, cell(kGaps), "must be sorted, disjoint ranges inside the lifetime");
      }
      buffer.intervals.push_back({begin, gap.begin});
      begin = gap.end;
    }
    buffer.intervals.push_back({begin, upper});
  }

  Interval read_gap(std::string_view text) const {
    Interval gap;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, gap.begin);
    const bool dash = first.ec == std::errc() && first.ptr != end && *first.ptr == '-';
    const auto second = std::from_chars(dash ? first.ptr + 1 : end, end, gap.end);
    if (!dash || second.ec != std::errc() || second.ptr != end) refuse_cell(kGaps, text, "is no range BEGIN-END");
    return gap;
  }

  void read_optional(Buffer& buffer) const {
    if (!cell(kAlignment).empty()) buffer.alignment = integer(kAlignment);
    if (!cell(kOffset).empty()) buffer.fixed_offset = integer(kOffset);
    if (!cell(kAliasGroup).empty()) buffer.alias_group = integer(kAliasGroup);
    if (const std::string_view name = cell(kCategory); !name.empty()) {
      const auto category = category_from_string(name);
      if (!category) refuse_cell(kCategory, name, "is no category");
      buffer.category = *category;
    }
    if (const std::string_view name = cell(kScope); !name.empty()) {
      const auto scope = scope_from_string(name);
      if (!scope) refuse_cell(kScope, name, "is no scope (run, step, micro_batch)");
      buffer.scope = *scope;
    }
  }

  // What validate() would refuse in this buffer alone, said with the line.
  void check_row(const Buffer& buffer) const {
    try {
      validate({"", {buffer}});
    } catch (const Error& error) {
      refuse(std::string(error.what()).substr(2));
    }
  }

  std::istream& in_;
  Trace trace_;
  std::string line_;
  int64_t line_number_ = 0;
  size_t column_count_ = 0;
  std::array<int, kColumnCount> position_{};
  std::vector<std::string_view> cells_;
  std::unordered_map<int64_t, int64_t> line_of_id_;
};

bool is_plain(const Buffer& buffer) {
  Buffer plain;
  plain.id = buffer.id;
  plain.bytes = buffer.bytes;
  plain.intervals = buffer.intervals;
  return buffer.intervals.size() == 1 && plain == buffer;
}

void write_full_columns(const Buffer& buffer, std::ostream& out) {
  out << ',' << buffer.alignment << ',';
  for (size_t i = 1; i < buffer.intervals.size(); ++i) {
    out << (i > 1 ? " " : "") << buffer.intervals[i - 1].end << '-' << buffer.intervals[i].begin;
  }
  out << ',' << to_string(buffer.category) << ',' << to_string(buffer.scope) << ',';
  if (buffer.fixed_offset) out << *buffer.fixed_offset;
  out << ',';
  if (buffer.alias_group) out << *buffer.alias_group;
}

}  // namespace

Trace read_csv(std::istream& in, const std::string& name) { return Reader(in, name).read(); }

Trace read_csv_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorCode::io, "cannot open trace '" + path + "'");
  return read_csv(in, path);
}

void write_csv(const Trace& trace, std::ostream& out) {
  const bool plain = std::all_of(trace.buffers.begin(), trace.buffers.end(), is_plain);
  out << (plain ? "id,lower,upper,size\n" : "id,lower,upper,size,alignment,gaps,category,scope,offset,alias_group\n");
  for (const Buffer& buffer : trace.buffers) {
    out << buffer.id << ',' << buffer.intervals.front().begin << ',' << buffer.intervals.back().end << ','
        << buffer.bytes;
    if (!plain) write_full_columns(buffer, out);
    out << '\n';
  }
}

}  // namespace tidemark::memory
