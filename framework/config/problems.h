// The problems of one configuration, gathered so that all are reported in one run.
#pragma once

#include <string>
#include <vector>

#include "framework/config/position.h"

namespace tidemark::config {

class Problems {
 public:
  // `file` is how messages name the configuration file.
  explicit Problems(std::string file) : file_(std::move(file)) {}

  void add(Position at, std::string text);
  bool empty() const { return entries_.empty(); }

  // "FILE:LINE:COLUMN: text", in file order, those of --set ("--set: text") last.
  std::vector<std::string> lines() const;
  // Throws Error(config) with all lines if there are any.
  void throw_if_any() const;

 private:
  struct Entry {
    Position at;
    std::string text;
  };

  std::string file_;
  std::vector<Entry> entries_;
};

}  // namespace tidemark::config
