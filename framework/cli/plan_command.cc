#include <fmt/format.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/cli/commands.h"
#include "framework/cli/lists.h"
#include "framework/cli/measuring_line.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"
#include "framework/cli/peak_share.h"
#include "framework/cli/plan_explanation.h"
#include "framework/cli/plan_report.h"
#include "framework/cli/run_device.h"
#include "framework/cli/stop_request.h"
#include "framework/cli/tensor_notes.h"
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
  std::string body;
  std::vector<std::string> tensors;
  bool explain = false;
  bool frontier = false;
  bool estimate = false;
  bool measure_again = false;
  int points = 16;
};

int parse(PlanOptions& options, int argc, char** argv) {
  CLI::App app("Prints the peak of device memory and what it is for; takes no device memory", "tidemark plan");
  add_config_options(app, options.config);
  app.add_option(
         "--budget", options.budget,
         "Instead of memory.budget: 4GiB, 1048576, 90% of the device's memory, or 50%peak of the peak that the plan "
         "has without recomputation")
      ->check(not_empty());
  app.add_option("--svg", options.svg,
                 "Draws into this SVG file: the arena of the body with the peak or of --body (instructions to the "
                 "right, offsets in bytes upwards, categories in colour), or the curve of --frontier")
      ->check(not_empty());
  auto* explain = app.add_flag(
      "--explain", options.explain,
      "Also the largest tensors at the peak, the kernels, what runs again, and the predicted step, for which "
      "costs are measured that are not known yet (so do --json and --frontier; a plan alone measures only "
      "where it does not fit without recomputation)");
  app.add_option("--tensor", options.tensors,
                 "With --explain, also these tensors of its body (may be repeated): a name, the beginning of one, or a "
                 "pattern in quotes with *. Where each lies, at which instructions its bytes are alive, and whether it "
                 "is kept, made again or in place of another")
      ->allow_extra_args(false)
      ->check(not_empty())
      ->needs(explain);
  app.add_option("--body", options.body,
                 "The body that --explain tells of and --svg draws: a name of those that the plan lists. Without it, "
                 "of the bodies that fill the most pages the one that runs most often")
      ->check(not_empty());
  auto* frontier = app.add_flag(
      "--frontier", options.frontier,
      "Also the curve of budget against the extra cost of recomputation (overhead; `at least`: what no schedule within "
      "that budget is below), from the least budget that works to what nothing is run again in");
  app.add_option("--points", options.points, "Budgets of --frontier")
      ->check(CLI::Range(2, 500))
      ->capture_default_str()
      ->needs(frontier);
  auto* estimate = app.add_flag(
      "--estimate", options.estimate,
      "Costs from FLOPs and bytes instead of measurements; plans also for a CUDA device that is not there");
  app.add_flag("--measure-again", options.measure_again,
               "Measures all costs that this configuration needs under any budget, also those that are known, replaces "
               "their figures in the cost file, and says how many changed and by how much: for costs of a machine that "
               "was busy")
      ->excludes(estimate);
  return parse_command_line(app, argc, argv);
}

void draw_arena(const compile::Program& program, const compile::Body& body, const std::string& path) {
  const compile::WholeArena whole = compile::whole_arena(program, body);
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
  const bool wanted = options.config.json || options.explain || options.frontier || options.measure_again;
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

// Where --budget is a share of the peak. Any other one becomes memory.budget; a wrong one is told as --budget, not as
// the --set that it becomes.
std::optional<double> take_budget(PlanOptions& options) {
  if (options.budget.empty()) return std::nullopt;
  try {
    if (const auto share = parse_peak_share(options.budget)) return share;
    parse_byte_limit(options.budget);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--budget: ") + error.what());
  }
  options.config.overrides.push_back("memory.budget=" + options.budget);
  return std::nullopt;
}

class PlanCommand {
 public:
  // `peak_share`: --budget, if it is one.
  PlanCommand(const PlanOptions& options, std::optional<double> peak_share)
      : options_(options),
        config_(config::load_config(options.config.file, options.config.overrides, all_lists())),
        device_(plan_device(config_, options.estimate)),
        plan_options_({.estimate = options.estimate,
                       .predict_step = prediction(options),
                       .on_measuring = interrupt_->listener(measuring_.listener()),
                       .stop_measuring = interrupt_->stop(),
                       .measure_again = options.measure_again}) {
    if (peak_share) take_share_of_peak(*peak_share);
    if (!device_.imagined) budget_.emplace(make_budget());
    limit_bytes_ = budget_ ? budget_->limit_bytes() : parse_byte_limit(config_.config.memory.budget).bytes;
  }

  void execute() {
    train::PlannedRun run = plan();
    const compile::Body& body = find_body(*run.program, options_.body);
    const std::vector<TensorNote> tensors = notes_of_tensors(*run.program, body, options_.tensors);
    const std::vector<train::BudgetPoint> frontier = plan_curve();
    run.costs = run.cost_source->note();  // the curve may have measured more
    interrupt_.reset();                   // which says that nothing was written
    if (options_.frontier) {
      draw_curve(frontier);
    } else if (!options_.svg.empty()) {
      draw_arena(*run.program, body, options_.svg);
    }
    const std::string single = single_point_reason(run, config_.config, frontier);
    if (options_.config.json) {
      auto json = plan_json(run, device_.choice.name);
      if (run.costs.change) json["costs_again"] = cost_change_json(*run.costs.change);
      if (plain_peak_bytes_) json["plain_peak_bytes"] = *plain_peak_bytes_;
      if (options_.explain) json["explanation"] = explanation_json(run, body);
      if (!options_.tensors.empty()) json["explanation"]["tensors"] = tensors_json(body, tensors);
      if (options_.explain && options_.estimate) json["estimated"].push_back("explanation");
      if (options_.frontier) json["frontier"] = frontier_json(frontier);
      if (!single.empty()) json["frontier_is_one_point"] = single;
      std::cout << json.dump(2) << '\n';
    } else {
      print_plan(run, device_.choice.name, std::cout);
      if (options_.explain) explain_plan(run, body, std::cout);
      if (!options_.tensors.empty()) print_tensors(body, tensors, std::cout);
      if (options_.frontier) print_frontier(frontier, single, options_.estimate, std::cout);
    }
    std::cout.flush();
    check(run);
  }

 private:
  memory::Budget make_budget() const {
    try {
      return train::make_budget(config_, *device_.memory);
    } catch (const Error& error) {
      if (options_.budget.empty()) throw;
      throw Error(error.code(), std::string("--budget: ") + error.what());
    }
  }

  void take_share_of_peak(double share) {
    train::PlannedRun plain = train::prepare_run(config_);
    train::PlanOptions plain_options = plan_options_;
    plain_options.predict_step = compile::CostSum::none;
    train::compile_run(plain, config_, ops_, *device_.memory, std::numeric_limits<int64_t>::max(), plain_options);
    plan_options_.costs = plain.cost_source;
    plain_peak_bytes_ = plain.planned_peak_bytes;
    const int64_t bytes = peak_share_bytes(share, plain.planned_peak_bytes, device_.memory->granularity_bytes());
    config_.config.memory.budget = std::to_string(bytes);
    if (options_.config.json) return;
    std::cout << fmt::format("budget         {} of {} without recomputation, in whole pages: {} ({} bytes)\n",
                             to_string(ByteLimit{.share = share}), format_bytes(plain.planned_peak_bytes),
                             format_bytes(bytes), bytes);
  }

  train::PlannedRun plan() {
    train::PlannedRun run = train::prepare_run(config_);
    try {
      train::compile_run(run, config_, ops_, *device_.memory, limit_bytes_, plan_options_);
      plan_options_.costs = run.cost_source;  // measured once, also where no file keeps them
      return run;
    } catch (const Error& error) {
      plan_options_.costs = run.cost_source;
      if (error.code() == ErrorCode::out_of_memory) tell_refusal(run, error);
      throw;
    }
  }

  // The curve is that of all budgets: whoever is refused one looks for another there.
  void tell_refusal(const train::PlannedRun& run, const Error& error) {
    const bool has_curve = options_.frontier && dynamic_cast<const compile::BudgetRefusal*>(&error) != nullptr;
    const std::vector<train::BudgetPoint> frontier = has_curve ? plan_curve() : std::vector<train::BudgetPoint>();
    interrupt_.reset();
    if (has_curve) draw_curve(frontier);
    if (options_.config.json) {
      auto json = refusal_json(config_.config, device_.choice.name, limit_bytes_, error);
      if (has_curve) json["frontier"] = frontier_json(frontier);
      std::cout << json.dump(2) << std::endl;
    } else if (has_curve) {
      print_frontier(frontier, single_point_reason(run, config_.config, frontier), options_.estimate, std::cout);
      std::cout.flush();
    }
  }

  std::vector<train::BudgetPoint> plan_curve() const {
    if (!options_.frontier) return {};
    return train::plan_frontier(config_, ops_, *device_.memory, options_.points, plan_options_);
  }

  void draw_curve(const std::vector<train::BudgetPoint>& frontier) const {
    if (!options_.svg.empty()) draw_frontier(std::string(config_.config.model->kind()), frontier, options_.svg);
  }

  void check(const train::PlannedRun& run) const {
    if (budget_) train::check_budget(run, *budget_);
    if (!budget_ && run.planned_peak_bytes > limit_bytes_)
      throw Error(ErrorCode::out_of_memory, "estimated peak is " + format_bytes(run.planned_peak_bytes) +
                                                ", budget is " + format_bytes(limit_bytes_) +
                                                "; set memory.recompute: auto or lower memory.micro_batch");
  }

  const PlanOptions& options_;
  config::LoadedConfig config_;
  const RunDevice device_;
  const ops::OpSet ops_ = ops::all_ops();
  MeasuringLine measuring_;
  std::optional<PlanningInterrupt> interrupt_{std::in_place, "tidemark plan"};
  train::PlanOptions plan_options_;
  std::optional<memory::Budget> budget_;
  int64_t limit_bytes_ = 0;
  std::optional<int64_t> plain_peak_bytes_;  // known where the budget is a share of it
};

}  // namespace

int run_plan(int argc, char** argv) {
  PlanOptions options;
  if (const int code = parse(options, argc, argv); code >= 0) return code;
  if (!options.body.empty() && !options.explain && (options.svg.empty() || options.frontier))
    throw Error(
        ErrorCode::config,
        std::string("--body says which body --explain tells of and --svg draws") +
            (options.svg.empty() ? "; give one of them" : "; with --frontier --svg draws the curve, which has none"));
  const std::optional<double> peak_share = take_budget(options);
  PlanCommand(options, peak_share).execute();
  return 0;
}

}  // namespace tidemark::cli
