// The program `tidemark`: finds the command, reports errors, turns them into exit codes.
#include <cstdio>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <string>

#include "base/error.h"
#include "base/version.h"
#include "framework/cli/commands.h"
#include "framework/cli/config_command.h"
#include "framework/cli/standard_streams.h"

namespace {

struct Command {
  const char* name;
  int (*run)(int argc, char** argv);
  const char* what;
};

constexpr Command kCommands[] = {
    {"train", tidemark::cli::run_train, "trains the model of a configuration"},
    {"plan", tidemark::cli::run_plan, "prints the peak of device memory and what it is for, without training"},
    {"generate", tidemark::cli::run_generate, "goes on with a text by a trained model"},
    {"hold", tidemark::cli::run_hold, "takes memory of a device and holds it, as a neighbour would"},
    {"soak", tidemark::cli::run_soak, "repeats a step and says whether memory is stable or growing"},
    {"config", tidemark::cli::run_config, "checks and shows configurations, prints the reference"},
    {"bench", tidemark::cli::run_bench, "measures the planners"},
};

void print_usage(std::FILE* out) {
  std::fputs("tidemark: trains neural networks inside a memory budget\n\nusage: tidemark COMMAND [OPTIONS]\n\n", out);
  for (const Command& command : kCommands) std::fprintf(out, "  %-8s %s\n", command.name, command.what);
  std::fputs("\n`tidemark COMMAND --help` tells the options of a command, `tidemark --version` the version.\n", out);
}

// What `action` returns, with faults explained after `who` on standard error.
int run(const std::string& who, const std::function<int()>& action) {
  try {
    const int code = action();
    tidemark::cli::finish_output();
    return code;
  } catch (const tidemark::Error& error) {
    std::fprintf(stderr, "%s: %s\n", who.c_str(), error.what());
    return tidemark::exit_code(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of host memory\n", who.c_str());
    return 3;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", who.c_str(), error.what());
    return 1;
  }
}

int print_version() {
  std::printf("tidemark %s\n", tidemark::kVersion);
  return 0;
}

int print_help() {
  print_usage(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  tidemark::cli::prepare_streams();
  const char* name = argc > 1 ? argv[1] : "";
  if (std::strcmp(name, "--help") == 0 || std::strcmp(name, "-h") == 0 || std::strcmp(name, "help") == 0)
    return run("tidemark", print_help);
  if (std::strcmp(name, "--version") == 0) return run("tidemark", print_version);
  for (const Command& command : kCommands)
    if (std::strcmp(name, command.name) == 0)
      return run(std::string("tidemark ") + name, [&] { return command.run(argc - 1, argv + 1); });
  if (argc > 1) std::fprintf(stderr, "tidemark: unknown command '%s'\n\n", name);
  print_usage(stderr);
  return 2;
}
