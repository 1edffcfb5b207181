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

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
  throw Error(
      ErrorCode::config,
      fmt::format("size '{}' {}; write bytes (1048576) or a number with KiB, MiB, GiB or TiB (1.5GiB)", text, why));
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
  if (unit_bytes == 0) refuse(text, fmt::format("has the unknown unit '{}'", unit_name));

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
