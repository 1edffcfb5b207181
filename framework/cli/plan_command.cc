#include <fstream>
#include <iostream>

#include "base/error.h"
#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/options.h"
#include "framework/cli/plan_report.h"
#include "framework/cli/run_device.h"
#include "framework/compile/whole_arena.h"
#include "memory/arena/plan_svg.h"
#include "ops/all_ops.h"

namespace tidemark::cli {

namespace {

void write_svg(const train::PlannedRun& run, const std::string& path) {
  const compile::Program& program = *run.program;
  const compile::WholeArena whole = compile::whole_arena(program, program.bodies[program.peak_body]);
  std::ofstream file(path);
  memory::write_plan_svg(whole.trace, whole.plan, file);
  file.close();
  if (!file) throw Error(ErrorCode::io, "cannot write '" + path + "'");
}

}  // namespace

int run_plan(int argc, char** argv) {
  CLI::App app("Prints the peak of device memory and what it is for; takes no device memory", "tidemark plan");
  ConfigOptions options;
  std::string budget_text;
  std::string svg;
  bool explain = false;
  add_config_options(app, options);
  app.add_option("--budget", budget_text, "Instead of memory.budget: 4GiB, 1048576 or 90%");
  app.add_option("--svg", svg, "Draws the body with the peak into this file: time by offset, categories in colour");
  app.add_flag("--explain", explain, "Also the largest tensors at the peak and the kernels");
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  if (!budget_text.empty()) options.overrides.push_back("memory.budget=" + budget_text);

  const config::LoadedConfig config = config::load_config(options.file, options.overrides, all_lists());
  const RunDevice device = open_device(config);
  const ops::OpSet ops = ops::all_ops();
  const memory::Budget budget = train::make_budget(config, *device.memory);
  const train::PlannedRun run = train::plan_run(config, ops, *device.memory, budget);
  if (!svg.empty()) write_svg(run, svg);
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
