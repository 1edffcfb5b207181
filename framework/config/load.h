// From a YAML file to a checked configuration.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "framework/config/config.h"
#include "framework/config/section_reader.h"

namespace tidemark::config {

struct LoadedConfig {
  Config config;
  std::string file;  // as messages name it
  GivenKeys given;   // keys and sections that the file or --set gives

  // Throws Error(config) with problems that show only later (model against data), each at the place of `key`, a section
  // or full key; returns if there are none.
  void refuse(const std::string& key, const std::vector<std::string>& problems) const;
};

// `overrides` are assignments "train.lr=1e-3" in order. Throws one Error(config) with every problem of the file and the
// overrides, one a line: "FILE:LINE:COLUMN: key 'train.globl_batch' is unknown; nearest is 'train.global_batch'".
LoadedConfig load_config(const std::string& path, const std::vector<std::string>& overrides, Lists lists);

// The same for text that is no file: `name` is how messages name it, relative paths are looked for in `folder` first.
LoadedConfig parse_config(std::string_view text, const std::string& name, const std::string& folder,
                          const std::vector<std::string>& overrides, Lists lists);

}  // namespace tidemark::config
