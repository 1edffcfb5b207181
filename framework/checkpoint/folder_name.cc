#include "framework/checkpoint/folder_name.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "base/error.h"

namespace tidemark::checkpoint {
namespace {

std::optional<int64_t> parse_number(std::string_view digits) {
  if (digits.starts_with('-')) return std::nullopt;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

std::string to_string(const FolderName& name) {
  char text[64];
  std::snprintf(text, sizeof text, "step-%08lld", static_cast<long long>(name.step));
  return name.generation == 0 ? text : text + ("." + std::to_string(name.generation));
}

std::optional<FolderName> parse_folder_name(std::string_view name) {
  constexpr std::string_view kPrefix = "step-";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = name.substr(kPrefix.size());
  const size_t dot = rest.find('.');
  const auto step = parse_number(rest.substr(0, dot));
  const auto generation = dot == std::string_view::npos ? 0 : parse_number(rest.substr(dot + 1));
  if (!step || !generation) return std::nullopt;
  const FolderName parsed{*step, *generation};
  if (to_string(parsed) != name) return std::nullopt;
  return parsed;
}

bool is_partial(std::string_view name) {
  const std::string_view suffix = kPartialSuffix;
  return name.ends_with(suffix) && parse_folder_name(name.substr(0, name.size() - suffix.size())).has_value();
}

std::vector<FolderName> list_folders(const std::string& dir) {
  namespace fs = std::filesystem;
  std::vector<FolderName> folders;
  std::error_code error;
  if (!fs::exists(dir, error)) return folders;
  fs::directory_iterator entries(dir, error);
  if (error) throw Error(ErrorCode::io, "folder '" + dir + "' cannot be read: " + error.message());
  for (const fs::directory_entry& entry : entries) {
    if (const auto name = parse_folder_name(entry.path().filename().string())) folders.push_back(*name);
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

}  // namespace tidemark::checkpoint
