#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <mutex>

#include "base/error.h"

namespace tidemark {
namespace {

constexpr std::array<std::string_view, 5> kLevelNames = {"debug", "info", "warning", "error", "off"};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      return spdlog::level::off;
  }
  TM_CHECK(false, "unknown LogLevel");
}

// spdlog's stock default logger writes to standard output and has no name; one that the program has set is kept.
spdlog::logger& logger() {
  static std::once_flag once;
  std::call_once(once, [] {
    const std::shared_ptr<spdlog::logger> current = spdlog::default_logger();
    if (!current || current->name().empty()) start_logging(LogLevel::info, 0);
  });
  return *spdlog::default_logger_raw();
}

bool needs_quotes(std::string_view value) {
  if (value.empty()) return true;
  for (const unsigned char c : value) {
    if (c <= ' ' || c == '"' || c == '=' || c == '\\' || c == 0x7f) return true;
  }
  return false;
}

void append_value(std::string& line, std::string_view value) {
  if (!needs_quotes(value)) {
    line += value;
    return;
  }
  line += '"';
  for (const unsigned char c : value) {
    if (c == '"' || c == '\\') {
      line += '\\';
      line += static_cast<char>(c);
    } else if (c == '\n') {
      line += "\\n";
    } else if (c < ' ' || c == 0x7f) {
      fmt::format_to(std::back_inserter(line), "\\x{:02x}", c);
    } else {
      line += static_cast<char>(c);
    }
  }
  line += '"';
}

}  // namespace

std::string_view to_string(LogLevel level) { return kLevelNames[static_cast<size_t>(level)]; }

LogLevel parse_log_level(std::string_view name) {
  for (size_t i = 0; i < kLevelNames.size(); ++i) {
    if (kLevelNames[i] == name) return static_cast<LogLevel>(i);
  }
  throw Error(ErrorCode::config,
              fmt::format("log level '{}' is unknown; the levels are {}", name, fmt::join(kLevelNames, ", ")));
}

void start_logging(LogLevel level, int rank) {
  auto to_stderr = std::make_shared<spdlog::logger>("tidemark", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  to_stderr->set_level(spdlog_level(level));
  to_stderr->set_pattern(fmt::format("time=%Y-%m-%dT%H:%M:%S.%eZ level=%l rank={} %v", rank),
                         spdlog::pattern_time_type::utc);
  spdlog::set_default_logger(std::move(to_stderr));
}

bool log_enabled(LogLevel level) { return level != LogLevel::off && logger().should_log(spdlog_level(level)); }

LogField::LogField(std::string_view k, double v) : key(k), value(fmt::format("{}", v)) {}

void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) noexcept {
  try {
    if (!log_enabled(level)) return;
    std::string line = "event=";
    append_value(line, event);
    for (const LogField& field : fields) {
      line += ' ';
      line += field.key;
      line += '=';
      append_value(line, field.value);
    }
    logger().log(spdlog_level(level), line);
  } catch (...) {
    // Nowhere to report it: the log is what failed.
  }
}

}  // namespace tidemark
