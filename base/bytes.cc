#include "base/bytes.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "base/error.h"

namespace tidemark {
namespace {

struct Unit {
  std::string_view name;
  int64_t bytes;
};

constexpr std::array<Unit, 4> kUnits = {{
    {"KiB", int64_t{1} << 10},
    {"MiB", int64_t{1} << 20},
    {"GiB", int64_t{1} << 30},
    {"TiB", int64_t{1} << 40},
}};

constexpr std::string_view kAccepted = "bytes (1048576) or a number with KiB, MiB, GiB or TiB (1.5GiB)";

[[noreturn]] void refuse(std::string_view text, std::string_view why, std::string_view instead = kAccepted) {
  throw Error(ErrorCode::config, fmt::format("size '{}' {}; write {}", text, why, instead));
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The whole of `text` as digits with an optional fraction; nothing for signs, exponents, "inf".
std::optional<double> parse_decimal(std::string_view text) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string_view::npos) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// The unit that "M", "mb", "MB" or "mib" is nearest to; nullptr if it is near none.
const Unit* nearest_unit(std::string_view name) {
  const std::string_view rest = name.substr(std::min<size_t>(1, name.size()));
  const bool unit_like = rest.empty() || (rest.size() <= 2 && lower(rest.back()) == 'b' &&
                                          (rest.size() == 1 || lower(rest.front()) == 'i'));
  if (name.empty() || !unit_like) return nullptr;
  for (const Unit& unit : kUnits)
    if (lower(unit.name.front()) == lower(name.front())) return &unit;
  return nullptr;
}

[[noreturn]] void refuse_unit(std::string_view text, std::string_view unit_name) {
  const Unit* near = nearest_unit(unit_name);
  refuse(text,
         fmt::format("has the unknown unit '{}'{}", unit_name,
                     near == nullptr ? "" : fmt::format(", nearest is '{}' ({} bytes)", near->name, near->bytes)));
}

// "-1" and "1e8" are numbers, but none of those that sizes are written with.
void refuse_other_numbers(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.size() > 1 && trimmed[0] == '-' && std::string_view("0123456789.").find(trimmed[1]) != trimmed.npos)
    refuse(text, "is negative");
  double value = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), value, std::chars_format::scientific);
  if (error != std::errc() || end != trimmed.data() + trimmed.size() || !std::isfinite(value)) return;
  if (value >= static_cast<double>(std::numeric_limits<int64_t>::max())) refuse(text, "is too large");
  const auto bytes = static_cast<int64_t>(value);
  if (static_cast<double>(bytes) != value) refuse(text, "has an exponent");
  const std::string about = bytes < 1024 ? "" : " (about " + format_bytes(bytes) + ")";
  refuse(text, "has an exponent", std::to_string(bytes) + about);
}

int64_t parse_whole(std::string_view number, int64_t unit, std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (error != std::errc() || end != number.data() + number.size()) refuse(text, "is too large");
  int64_t bytes = 0;
  if (__builtin_mul_overflow(value, unit, &bytes)) refuse(text, "is too large");
  return bytes;
}

}  // namespace

int64_t parse_bytes(std::string_view text) {
  const size_t unit_start = std::min(text.find_first_not_of("0123456789. "), text.size());
  const std::string_view number = trim(text.substr(0, unit_start));
  const std::string_view unit_name = trim(text.substr(unit_start));

  int64_t unit_bytes = unit_name.empty() ? 1 : 0;
  for (const Unit& unit : kUnits) {
    if (unit.name == unit_name) unit_bytes = unit.bytes;
  }
  if (unit_bytes == 0) {
    refuse_other_numbers(text);
    refuse_unit(text, unit_name);
  }

  const std::optional<double> value = parse_decimal(number);
  if (!value) refuse(text, "is no size");
  if (number.find('.') == std::string_view::npos) return parse_whole(number, unit_bytes, text);
  if (unit_bytes == 1) refuse(text, "is a fraction of a byte");
  const double bytes = std::floor(*value * static_cast<double>(unit_bytes));
  if (bytes >= static_cast<double>(std::numeric_limits<int64_t>::max())) refuse(text, "is too large");
  return static_cast<int64_t>(bytes);
}

std::string format_bytes(int64_t bytes) {
  const double magnitude = std::abs(static_cast<double>(bytes));
  if (magnitude < 1024) return fmt::format("{} B", bytes);
  // Where one decimal would print 1024.0, the next unit's 1.0 is meant.
  size_t u = 0;
  while (u + 1 < kUnits.size() && magnitude / static_cast<double>(kUnits[u].bytes) >= 1023.95) ++u;
  return fmt::format("{:.1f} {}", static_cast<double>(bytes) / static_cast<double>(kUnits[u].bytes), kUnits[u].name);
}

int64_t ByteLimit::resolve(int64_t total_bytes) const {
  return is_share() ? static_cast<int64_t>(std::floor(static_cast<double>(total_bytes) * share)) : bytes;
}

ByteLimit parse_byte_limit(std::string_view text) {
  const std::string_view trimmed = trim(text);
  if (trimmed.empty() || trimmed.back() != '%') return {.bytes = parse_bytes(text)};
  const std::optional<double> percent = parse_decimal(trim(trimmed.substr(0, trimmed.size() - 1)));
  if (!percent || !(*percent > 0 && *percent <= 100)) {
    throw Error(ErrorCode::config, fmt::format("share '{}' is not above 0% and at most 100%", text));
  }
  return {.share = *percent / 100};
}

std::string to_string(const ByteLimit& limit) {
  if (limit.is_share()) return fmt::format("{:.6g}%", limit.share * 100);
  for (auto unit = kUnits.rbegin(); unit != kUnits.rend(); ++unit) {
    if (limit.bytes > 0 && limit.bytes % unit->bytes == 0)
      return fmt::format("{}{}", limit.bytes / unit->bytes, unit->name);
  }
  return fmt::format("{}", limit.bytes);
}

}  // namespace tidemark
