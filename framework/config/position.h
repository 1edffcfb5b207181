// Where in the configuration something stands.
#pragma once

#include <compare>
#include <string>

namespace tidemark::config {

// Line and column count from 1. Line 0: not in the file but from --set on the command line.
struct Position {
  int line = 1;
  int column = 1;
  auto operator<=>(const Position&) const = default;

  static Position command_line() { return {0, 0}; }
  bool from_command_line() const { return line == 0; }
};

}  // namespace tidemark::config
