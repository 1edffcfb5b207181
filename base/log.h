// Log events: one line each on standard error, key=value, so that they can be read and searched.
//
//   log(LogLevel::info, "checkpoint_written", {{"path", path}, {"bytes", size}});
//   time=2026-11-30T13:07:06.123Z level=info rank=0 event=checkpoint_written path=run/step-200 bytes=1048576
//
// Events go to spdlog's default logger, the only state of the process. If the program has not set one,
// it becomes a logger to standard error: nothing ever goes to standard output.
#pragma once

#include <concepts>
#include <initializer_list>
#include <string>
#include <string_view>

namespace tidemark {

enum class LogLevel { debug, info, warning, error, off };

std::string_view to_string(LogLevel level);
// Throws Error(config) that lists the levels.
LogLevel parse_log_level(std::string_view name);

// Sets the level and the rank of every later event. Call once, early; events before it have level info and rank 0.
void start_logging(LogLevel level, int rank);

bool log_enabled(LogLevel level);

// One key and its printed value. Values with spaces, quotes, '=' or control characters are quoted and escaped.
struct LogField {
  LogField(std::string_view k, std::string_view v) : key(k), value(v) {}
  LogField(std::string_view k, const char* v) : key(k), value(v) {}
  LogField(std::string_view k, bool v) : key(k), value(v ? "true" : "false") {}
  LogField(std::string_view k, double v);
  LogField(std::string_view k, std::integral auto v) : key(k), value(std::to_string(v)) {}

  std::string_view key;
  std::string value;
};

// `event` is a word in snake_case. Thread-safe. Never throws: a line that cannot be written is dropped.
void log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields = {}) noexcept;

}  // namespace tidemark
