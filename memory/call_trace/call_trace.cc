#include "memory/call_trace/call_trace.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <fstream>
#include <istream>
#include <ostream>
#include <string_view>
#include <unordered_set>

#include "base/error.h"

namespace tidemark::memory {
namespace {

constexpr std::string_view kHeader = "call,id,bytes,category";

class LineReader {
 public:
  LineReader(const std::string& name, int64_t line, std::string_view text) : name_(name), line_(line), text_(text) {}

  AllocatorCall read() const {
    std::array<std::string_view, 4> cells;
    std::string_view rest = text_;
    for (size_t i = 0; i < cells.size(); ++i) {
      const size_t comma = i + 1 < cells.size() ? rest.find(',') : rest.size();
      if (comma == std::string_view::npos) refuse("has too few cells", text_);
      cells[i] = rest.substr(0, comma);
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    AllocatorCall call;
    call.id = number("id", cells[1]);
    if (cells[0] == "free") return call;
    if (cells[0] != "alloc") refuse("column 'call' is neither alloc nor free", cells[0]);
    call.bytes = number("bytes", cells[2]);
    if (call.bytes <= 0) refuse("column 'bytes' is not above 0", cells[2]);
    const auto category = category_from_string(cells[3]);
    if (!category) refuse("column 'category' is unknown", cells[3]);
    call.category = *category;
    return call;
  }

  [[noreturn]] void refuse(std::string_view what, std::string_view text) const {
    throw Error(ErrorCode::data, fmt::format("{}:{}: {}: '{}'", name_, line_, what, text));
  }

 private:
  int64_t number(std::string_view column, std::string_view text) const {
    int64_t value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, error] = std::from_chars(text.data(), last, value);
    if (error != std::errc() || end != last) refuse(fmt::format("column '{}' is no number", column), text);
    return value;
  }

  const std::string& name_;
  const int64_t line_;
  const std::string_view text_;
};

}  // namespace

CallTrace read_call_trace(std::istream& in, const std::string& name) {
  CallTrace trace{name, {}};
  std::unordered_set<int64_t> live;
  std::string text;
  for (int64_t line = 1; std::getline(in, text); ++line) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    const LineReader reader(name, line, text);
    if (line == 1) {
      if (text != kHeader) reader.refuse(fmt::format("the header is not '{}'", kHeader), text);
      continue;
    }
    const AllocatorCall call = reader.read();
    if (call.is_free() && live.erase(call.id) == 0) reader.refuse("frees an id that is not live", text);
    if (!call.is_free() && !live.insert(call.id).second) reader.refuse("allocates an id that is live", text);
    trace.calls.push_back(call);
  }
  if (trace.calls.empty()) throw Error(ErrorCode::data, name + ": there are no calls in it");
  return trace;
}

CallTrace read_call_trace_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorCode::io, "cannot open '" + path + "'");
  return read_call_trace(file, path);
}

void write_call_trace(const CallTrace& trace, std::ostream& out) {
  out << kHeader << '\n';
  for (const AllocatorCall& call : trace.calls) {
    if (call.is_free())
      out << "free," << call.id << ",,\n";
    else
      out << "alloc," << call.id << ',' << call.bytes << ',' << to_string(call.category) << '\n';
  }
}

}  // namespace tidemark::memory
