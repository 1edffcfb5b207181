#include <nlohmann/json.hpp>
#include <ostream>
#include <sstream>

#include "base/error.h"
#include "framework/cli/config_command.h"
#include "framework/config/load.h"
#include "framework/config/print.h"

namespace tidemark::cli {
namespace {

int check(const ConfigCommand& command, config::Lists lists, std::ostream& out) {
  nlohmann::ordered_json report = {{"file", command.file}, {"valid", true}, {"problems", nlohmann::json::array()}};
  int code = 0;
  try {
    config::load_config(command.file, command.overrides, std::move(lists));
  } catch (const Error& e) {
    if (!command.json) throw;
    std::istringstream lines(e.what());
    for (std::string line; std::getline(lines, line);) report["problems"].push_back(line);
    report["valid"] = false;
    code = exit_code(e.code());
  }
  if (command.json) {
    out << report.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  } else {
    out << command.file << ": valid\n";
  }
  return code;
}

}  // namespace

int execute(const ConfigCommand& command, config::Lists lists, std::ostream& out) {
  if (command.action == ConfigCommand::Action::check) return check(command, std::move(lists), out);
  if (command.action == ConfigCommand::Action::reference) {
    out << config::reference_yaml(std::move(lists));
    return 0;
  }
  const config::LoadedConfig loaded = config::load_config(command.file, command.overrides, std::move(lists));
  out << (command.json ? config::to_json(loaded.config) + "\n" : config::to_yaml(loaded.config));
  return 0;
}

}  // namespace tidemark::cli
