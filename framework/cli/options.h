// Options that several commands share.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tidemark::cli {

struct ConfigOptions {
  std::string file;
  std::vector<std::string> overrides;  // "train.lr=1e-3"
  bool json = false;
};

// Gives the option of the file, which is required.
CLI::Option* add_config_options(CLI::App& app, ConfigOptions& options);

// For an option that counts as absent if its text is empty: refuses "", which an unset variable of a shell leaves.
CLI::Validator not_empty();

// Parses; returns -1 to go on, else the exit code: 0 after --help, 2 for a bad command line (explained on standard
// error as main() explains errors, with the app's name before it).
int parse_command_line(CLI::App& app, int argc, char** argv);

}  // namespace tidemark::cli
