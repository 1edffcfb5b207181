#include "framework/config/problems.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"

namespace tidemark::config {

void Problems::add(Position at, std::string text) { entries_.push_back({at, std::move(text)}); }

std::vector<std::string> Problems::lines() const {
  std::vector<Entry> sorted = entries_;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.at.from_command_line(), a.at) < std::tuple(b.at.from_command_line(), b.at);
  });
  std::vector<std::string> lines;
  for (const Entry& entry : sorted) {
    const std::string where = entry.at.from_command_line()
                                  ? std::string("--set")
                                  : file_ + ":" + std::to_string(entry.at.line) + ":" + std::to_string(entry.at.column);
    lines.push_back(where + ": " + entry.text);
  }
  return lines;
}

void Problems::throw_if_any() const {
  if (empty()) return;
  std::string message;
  for (const std::string& line : lines()) message += (message.empty() ? "" : "\n") + line;
  throw Error(ErrorCode::config, message);
}

}  // namespace tidemark::config
