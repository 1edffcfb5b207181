#include <fstream>
#include <functional>
#include <iostream>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/measuring_line.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"
#include "framework/cli/plan_report.h"
#include "framework/cli/run_device.h"
#include "framework/cli/stop_request.h"
#include "framework/compile/whole_arena.h"
#include "framework/train/plan_frontier.h"
#include "memory/arena/plan_svg.h"
#include "memory/recompute/frontier_svg.h"
#include "ops/all_ops.h"

namespace tidemark::cli {
namespace {

struct PlanOptions {
  ConfigOptions config;
  std::string budget;
  std::string svg;
  bool explain = false;
  bool frontier = false;
  bool estimate = false;
  int points = 16;
};

int parse(PlanOptions& options, int argc, char** argv) {
  CLI::App app("Prints the peak of device memory and what it is for; takes no device memory", "tidemark plan");
  add_config_options(app, options.config);
  app.add_option("--budget", options.budget, "Instead of memory.budget: 4GiB, 1048576 or 90%")->check(not_empty());
  app.add_option(
         "--svg", options.svg,
         "Draws into this SVG file: the arena of the body with the peak (instructions to the right, offsets in bytes "
         "upwards, categories in colour), or "
         "the curve of --frontier")
      ->check(not_empty());
  app.add_flag("--explain", options.explain,
               "Also the largest tensors at the peak, the kernels, what runs again, and the predicted step, for which "
               "costs are measured that are not known yet (so do --json and --frontier; a plan alone measures only "
               "where it does not fit without recomputation)");
  auto* frontier = app.add_flag(
      "--frontier", options.frontier,
      "Also the curve of budget against the extra cost of recomputation (overhead; `at least`: what no schedule within "
      "that budget is below), from the least budget that works to what nothing is run again in");
  app.add_option("--points", options.points, "Budgets of --frontier")
      ->check(CLI::Range(2, 500))
      ->capture_default_str()
      ->needs(frontier);
  app.add_flag("--estimate", options.estimate,
               "Costs from FLOPs and bytes instead of measurements; plans also for a CUDA device that is not there");
  return parse_command_line(app, argc, argv);
}

void draw_arena(const train::PlannedRun& run, const std::string& path) {
  const compile::Program& program = *run.program;
  const compile::WholeArena whole = compile::whole_arena(program, program.bodies[program.peak_body]);
  write_output_file(path, [&](std::ostream& out) { memory::write_plan_svg(whole.trace, whole.plan, out); });
}

void draw_frontier(const std::string& model, const std::vector<train::BudgetPoint>& points, const std::string& path) {
  std::vector<memory::FrontierPoint> curve;
  for (const train::BudgetPoint& p : points) {
    memory::FrontierPoint& point = curve.emplace_back();
    point.budget_bytes = p.budget_bytes;
    point.reached = p.reached;
    point.plan.overhead = p.overhead;
    point.plan.overhead_lower_bound = p.overhead_lower_bound;
    point.plan.peak_live_bytes = p.peak_bytes;
  }
  write_output_file(
      path, [&](std::ostream& out) { memory::write_frontier_svg(model, points.back().budget_bytes, curve, out); });
}

// Measuring every kernel takes seconds; a plan that fits as it stands needs no costs. Whoever asks for more than the
// plan gets the prediction with it, and the object of --json is whole.
compile::CostSum prediction(const PlanOptions& options) {
  const bool wanted = options.config.json || options.explain || options.frontier;
  return wanted ? compile::CostSum::measured : compile::CostSum::known;
}

RunDevice plan_device(const config::LoadedConfig& config, bool estimate) {
  if (estimate) return open_or_imagine_device(config);
  try {
    return open_device(config);
  } catch (const Error& error) {
    throw Error(error.code(), std::string(error.what()) + "; `plan --estimate` gives estimates without the device");
  }
}

// memory.budget as --budget gives it; a wrong one is told as that, not as the --set that it becomes.
std::string budget_override(const std::string& budget) {
  try {
    parse_byte_limit(budget);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--budget: ") + error.what());
  }
  return "memory.budget=" + budget;
}

}  // namespace

int run_plan(int argc, char** argv) {
  PlanOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  if (!options.budget.empty()) options.config.overrides.push_back(budget_override(options.budget));
  const config::LoadedConfig config = config::load_config(options.config.file, options.config.overrides, all_lists());
  const RunDevice device = plan_device(config, options.estimate);
  const ops::OpSet ops = ops::all_ops();
  std::optional<memory::Budget> budget;
  if (!device.imagined) budget.emplace(train::make_budget(config, *device.memory));
  const int64_t limit_bytes = budget ? budget->limit_bytes() : parse_byte_limit(config.config.memory.budget).bytes;
  MeasuringLine measuring;
  PlanningInterrupt interrupt("tidemark plan");
  train::PlanOptions plan_options{.estimate = options.estimate,
                                  .predict_step = prediction(options),
                                  .on_measuring = interrupt.listener(measuring.listener()),
                                  .stop_measuring = interrupt.stop()};
  const train::PlannedRun run = [&] {
    try {
      train::PlannedRun planned = train::prepare_run(config);
      train::compile_run(planned, config, ops, *device.memory, limit_bytes, plan_options);
      return planned;
    } catch (const Error& error) {
      if (options.config.json && error.code() == ErrorCode::out_of_memory)
        std::cout << refusal_json(config.config, device.choice.name, limit_bytes, error).dump(2) << std::endl;
      throw;
    }
  }();
  plan_options.costs = run.cost_source;  // measured once, also where no file keeps them
  std::vector<train::BudgetPoint> frontier;
  if (options.frontier) frontier = train::plan_frontier(config, ops, *device.memory, options.points, plan_options);
  const std::string single = single_point_reason(run, config.config, frontier);
  if (!options.svg.empty() && !options.frontier) draw_arena(run, options.svg);
  if (!options.svg.empty() && options.frontier) draw_frontier(run.program->name, frontier, options.svg);
  if (options.config.json) {
    auto json = plan_json(run, device.choice.name);
    if (options.frontier) json["frontier"] = frontier_json(frontier);
    if (!single.empty()) json["frontier_is_one_point"] = single;
    std::cout << json.dump(2) << '\n';
  } else {
    print_plan(run, device.choice.name, std::cout);
    if (options.explain) explain_plan(run, std::cout);
    if (options.frontier) print_frontier(frontier, single, options.estimate, std::cout);
  }
  std::cout.flush();
  if (budget) train::check_budget(run, *budget);
  if (!budget && run.planned_peak_bytes > limit_bytes)
    throw Error(ErrorCode::out_of_memory, "estimated peak is " + format_bytes(run.planned_peak_bytes) + ", budget is " +
                                              format_bytes(limit_bytes) +
                                              "; set memory.recompute: auto or lower memory.micro_batch");
  return 0;
}

}  // namespace tidemark::cli
