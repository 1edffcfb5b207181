#include <iostream>

#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/options.h"
#include "framework/cli/plan_report.h"
#include "framework/cli/run_device.h"
#include "ops/all_ops.h"

namespace tidemark::cli {

int run_plan(int argc, char** argv) {
  CLI::App app("Prints the peak of device memory and what it is for; takes no device memory", "tidemark plan");
  ConfigOptions options;
  std::string budget_text;
  bool explain = false;
  add_config_options(app, options);
  app.add_option("--budget", budget_text, "Instead of memory.budget: 4GiB, 1048576 or 90%");
  app.add_flag("--explain", explain, "Also the largest tensors at the peak and the kernels");
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  if (!budget_text.empty()) options.overrides.push_back("memory.budget=" + budget_text);

  const config::LoadedConfig config = config::load_config(options.file, options.overrides, all_lists());
  const RunDevice device = open_device(config);
  const ops::OpSet ops = ops::all_ops();
  const memory::Budget budget = train::make_budget(config, *device.memory);
  const train::PlannedRun run = train::plan_run(config, ops, *device.memory, budget);
  if (options.json) {
    std::cout << plan_json(run, device.choice.name).dump(2) << '\n';
  } else {
    print_plan(run, device.choice.name, std::cout);
    if (explain) explain_plan(run, std::cout);
  }
  std::cout.flush();
  train::check_budget(run, budget);
  return 0;
}

}  // namespace tidemark::cli
