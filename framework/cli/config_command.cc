#include "framework/cli/config_command.h"

#include <iostream>

#include "framework/cli/lists.h"
#include "framework/cli/options.h"

namespace tidemark::cli {
namespace {

void add_file_options(CLI::App& app, ConfigCommand& command) {
  app.add_option("file,-c,--config", command.file, "Configuration file")->required();
  app.add_option("--set", command.overrides, "Overrides a key: train.lr=1e-3 (may be repeated)")
      ->allow_extra_args(false);
  app.add_flag("--json", command.json, "One JSON object on standard output");
}

}  // namespace

int run_config(int argc, char** argv) {
  ConfigCommand command;
  CLI::App app("Checks and shows configurations", "tidemark config");
  app.require_subcommand(1);
  CLI::App* check = app.add_subcommand("check", "Reports every problem of a file");
  CLI::App* show = app.add_subcommand("show", "Prints every key with its value, defaults included");
  app.add_subcommand("reference", "Prints every key with its default, what it is for and what it accepts");
  add_file_options(*check, command);
  add_file_options(*show, command);
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  command.action = check->parsed()  ? ConfigCommand::Action::check
                   : show->parsed() ? ConfigCommand::Action::show
                                    : ConfigCommand::Action::reference;
  return execute(command, all_lists(), std::cout);
}

}  // namespace tidemark::cli
