// `tidemark config check FILE`, `show FILE` and `reference`: what a configuration says, without running it.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "framework/config/config.h"

namespace tidemark::cli {

struct ConfigCommand {
  enum class Action { check, show, reference };

  Action action = Action::check;
  std::string file;
  std::vector<std::string> overrides;  // "train.lr=1e-3"
  bool json = false;                   // one object on `out`
};

// Writes to `out` and returns the exit code. Throws Error(config) with all problems of the file; with check and json
// they are part of the object instead.
int execute(const ConfigCommand& command, config::Lists lists, std::ostream& out);

// The command line "config ACTION ...", argv[0] being "config"; writes to standard output. Returns 2 for a bad command
// line (explained on standard error); throws what execute() throws.
int run_config(int argc, char** argv);

}  // namespace tidemark::cli
