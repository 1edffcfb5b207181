#include "framework/cli/options.h"

#include <iostream>

namespace tidemark::cli {

CLI::Option* add_config_options(CLI::App& app, ConfigOptions& options) {
  CLI::Option* file = app.add_option("-c,--config", options.file, "Configuration file")->required()->check(not_empty());
  app.add_option("--set", options.overrides, "Overrides a key: train.lr=1e-3 (may be repeated)")
      ->allow_extra_args(false);
  app.add_flag("--json", options.json, "One JSON object on standard output, nothing else there");
  return file;
}

CLI::Validator not_empty() {
  return {[](const std::string& text) { return std::string(text.empty() ? "is empty" : ""); }, ""};
}

namespace {

// The likeliest ways to give too much to a command that takes --set.
std::string advice(const CLI::App& app, const std::vector<std::string>& unexpected) {
  if (app.get_option_no_throw("--set") == nullptr) return "";
  for (const std::string& argument : unexpected) {
    if (argument.starts_with("--budget")) return "; the budget of this command is --set memory.budget=SIZE";
    if (argument.find('=') != std::string::npos && !argument.starts_with("-"))
      return "; --set takes one key: write --set " + argument;
  }
  return "";
}

std::string explanation(const CLI::App& app, const CLI::ParseError& error) {
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr) return error.what();
  const std::vector<std::string> unexpected = app.remaining();  // the error has them backwards
  std::string text = "not expected:";
  for (const std::string& argument : unexpected) text += " '" + argument + "'";
  return text + advice(app, unexpected);
}

}  // namespace

int parse_command_line(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help
    std::cerr << app.get_name() << ": " << explanation(app, e) << "; see " << app.get_name() << " --help" << std::endl;
    return 2;
  }
  return -1;
}

}  // namespace tidemark::cli
