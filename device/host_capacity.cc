#include "device/host_capacity.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace tidemark {
namespace {

constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool contains(const std::vector<std::string_view>& parts, std::string_view part) {
  return std::find(parts.begin(), parts.end(), part) != parts.end();
}

std::optional<std::string> try_read(const std::string& path) {
  try {
    return read_file(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<int64_t> leading_number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

// The number after `key` on the line that starts with it ("MemTotal:   123 kB", "inactive_file 456").
std::optional<int64_t> number_of(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const std::vector<std::string_view> words = split(line, ' ');
    if (words.size() >= 2 && words[0] == key) return leading_number(words[1]);
  }
  return std::nullopt;
}

struct Hierarchy {
  std::string mount_point;
  std::string group;  // path below the mount point, "" or starting with '/'
  bool v2 = false;
};

// Lines of /proc/self/mountinfo: id parent device root mount_point options [tags] - type source super_options.
std::optional<Hierarchy> find_mount(std::string_view mountinfo, bool v2, std::string_view group_path) {
  for (const std::string_view line : split(mountinfo, '\n')) {
    const size_t dash = line.find(" - ");
    if (dash == std::string_view::npos) continue;
    const std::vector<std::string_view> before = split(line.substr(0, dash), ' ');
    const std::vector<std::string_view> after = split(line.substr(dash + 3), ' ');
    if (before.size() < 5 || after.size() < 3 || after[0] != (v2 ? "cgroup2" : "cgroup")) continue;
    if (!v2 && !contains(split(after[2], ','), "memory")) continue;
    // In a container the mount's root can be the process's own group, whose path the kernel gives from outside.
    if (before[3] != "/" && group_path.starts_with(before[3])) group_path.remove_prefix(before[3].size());
    return Hierarchy{std::string(before[4]), group_path == "/" ? "" : std::string(group_path), v2};
  }
  return std::nullopt;
}

// The memory hierarchies of the process: lines of /proc/self/cgroup are id:controllers:path, v2 has no controllers.
std::vector<Hierarchy> find_hierarchies(const std::string& root) {
  const std::string groups = try_read(root + "/proc/self/cgroup").value_or("");
  const std::string mountinfo = try_read(root + "/proc/self/mountinfo").value_or("");
  std::vector<Hierarchy> found;
  for (const std::string_view line : split(groups, '\n')) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const bool v2 = controllers.empty();
    if (!v2 && !contains(split(controllers, ','), "memory")) continue;
    if (auto hierarchy = find_mount(mountinfo, v2, line.substr(second + 1))) found.push_back(std::move(*hierarchy));
  }
  return found;
}

// One group's limit and what is free under it. v1 says "no limit" with a number near 2^63.
void apply_group(const std::string& directory, bool v2, HostCapacity& capacity) {
  const auto limit_text = try_read(directory + (v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  const int64_t limit = limit_text ? leading_number(*limit_text).value_or(kUnlimited) : kUnlimited;
  if (limit >= (int64_t{1} << 60)) return;
  capacity.total_bytes = std::min(capacity.total_bytes, limit);
  const auto usage_text = try_read(directory + (v2 ? "/memory.current" : "/memory.usage_in_bytes"));
  const std::string stat = try_read(directory + "/memory.stat").value_or("");
  const std::string_view prefix = v2 ? "" : "total_";
  const int64_t usage = usage_text ? leading_number(*usage_text).value_or(0) : 0;
  const int64_t cache = number_of(stat, std::string(prefix) + "inactive_file").value_or(0) +
                        number_of(stat, std::string(prefix) + "active_file").value_or(0);
  capacity.free_bytes =
      std::min(capacity.free_bytes, std::max<int64_t>(0, limit - std::max<int64_t>(0, usage - cache)));
}

}  // namespace

HostCapacity read_host_capacity(const std::string& root) {
  const std::string meminfo = read_file(root + "/proc/meminfo");
  const std::optional<int64_t> total_kib = number_of(meminfo, "MemTotal:");
  const std::optional<int64_t> available_kib = number_of(meminfo, "MemAvailable:");
  if (!total_kib || !available_kib) {
    throw Error(ErrorCode::io, "'" + root + "/proc/meminfo' lacks MemTotal or MemAvailable");
  }
  HostCapacity capacity = {*total_kib * 1024, *available_kib * 1024};
  // A limit of any group from the process's own up to the mount point holds.
  for (const Hierarchy& hierarchy : find_hierarchies(root)) {
    std::string group = hierarchy.group;
    while (true) {
      apply_group(root + hierarchy.mount_point + group, hierarchy.v2, capacity);
      if (group.empty()) break;
      group.resize(group.rfind('/') == std::string::npos ? 0 : group.rfind('/'));
    }
  }
  return capacity;
}

int64_t committable_host_bytes(const std::string& root) {
  const HostCapacity capacity = read_host_capacity(root);
  const int64_t reserve = std::max(int64_t{64} << 20, capacity.total_bytes / 64);
  return std::max<int64_t>(0, capacity.free_bytes - reserve);
}

}  // namespace tidemark
