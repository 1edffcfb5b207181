#include "framework/cli/bench_recompute.h"

#include <iostream>

#include "base/error.h"
#include "framework/cli/input_file.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"
#include "memory/bench/recompute_bench.h"
#include "memory/bench/transformer_step.h"
#include "memory/recompute/frontier_svg.h"
#include "memory/recompute/graph_json.h"

namespace tidemark::cli {
namespace {

constexpr const char* kColumns =
    "Columns:\n"
    "  overhead  cost of what runs again, by the cost of the graph; the plan counts live bytes\n"
    "  bound     no schedule within the budget has less overhead, as far as proven\n"
    "  median    overhead over the variants of --relabel that were reached; the graph's own without them\n"
    "  in arena  overhead of a plan whose arena, with fragmentation, fits the budget; - if none was found\n"
    "  ms        planning for live bytes, median over the variants\n"
    "  bound ms  finding the bound\n"
    "  arena ms  planning for the arena, offsets included\n"
    "Times are processor time of one thread, without reading and checking. --frontier: budget, its share of the peak\n"
    "without recomputation, overhead and bound (at least); its time is that of the plans alone.";

struct Arguments {
  std::vector<std::string> files;
  std::vector<std::string> budgets;
  std::vector<int64_t> transformers;
  std::string svg;
  bool json = false;
  memory::RecomputeBenchOptions bench;
};

void add_options(CLI::App& app, Arguments& arguments) {
  memory::RecomputeBenchOptions& bench = arguments.bench;
  app.add_option("graphs", arguments.files, "Graphs: networkx node-link JSON with cost_cpu and cost_ram");
  app.add_option("--transformer", arguments.transformers,
                 "Generated Transformer steps of about so many nodes; several with commas (100,1000)")
      ->check(CLI::Range(1, 1'000'000))
      ->delimiter(',')
      ->option_text("N[,N] in [1 - 1000000]")
      ->allow_extra_args(false);
  app.add_option("--budgets", arguments.budgets,
                 "Shares of the peak without recomputation (0.9,80%), multiples of the least conceivable peak (1.05ws) "
                 "or sizes (4GiB); several with commas")
      ->delimiter(',')
      ->option_text("BUDGET[,BUDGET]")
      ->allow_extra_args(false);
  app.add_option("--frontier", bench.frontier_points, "Also the whole curve, with this many budgets")
      ->check(CLI::Range(2, 10'000));
  app.add_option("--svg", arguments.svg, "Draw the curve of the first graph into this file (needs --frontier)")
      ->check(not_empty());
  app.add_option("--relabel", bench.variants,
                 "Also this many variants less one (relabelled, bytes x 3, costs x 7, other seeds); medians are given")
      ->check(CLI::Range(1, 1000));
  app.add_option("--planner", bench.planner, "One of the planners, instead of search");
  app.add_option("--offset-planner", bench.offset_planner, "For the arena figures; empty: none");
  app.add_option("--work", bench.work_limit, "Limit of the search, in its own units; about a million a second")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", bench.seed, "Seed of the search");
  app.add_flag("!--no-check", bench.check, "Leave out the O(n^2) simulation of every plan (not part of the times)");
  app.add_flag("--json", arguments.json, "One JSON object instead of a table");
  app.footer(kColumns);
}

void check_arguments(const Arguments& arguments) {
  if (arguments.files.empty() && arguments.transformers.empty())
    throw Error(ErrorCode::config, "name at least one graph, or --transformer N");
  if (arguments.budgets.empty() && arguments.bench.frontier_points == 0)
    throw Error(ErrorCode::config, "name at least one budget (--budgets 0.9,0.8), or --frontier N");
  if (!arguments.svg.empty() && arguments.bench.frontier_points == 0)
    throw Error(ErrorCode::config, "--svg draws the curve: give --frontier N");
}

void write_svg(const memory::RecomputeBenchFrontier& frontier, const std::string& path) {
  write_output_file(path, [&](std::ostream& out) {
    memory::write_frontier_svg(frontier.graph, frontier.plain_peak_bytes, frontier.points, out);
  });
}

}  // namespace

int run_bench_recompute(int argc, char** argv) {
  CLI::App app("Plans the recomputation of graphs under budgets and says how good the plans are and what they took",
               "tidemark bench recompute");
  Arguments arguments;
  add_options(app, arguments);
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  check_arguments(arguments);
  for (const std::string& budget : arguments.budgets) arguments.bench.budgets.push_back({budget});

  memory::RecomputeBenchReport report;
  report.options = arguments.bench;
  for (const std::string& file : arguments.files)
    memory::bench_step_trace(read_input_file(file, memory::read_graph_json), report);
  for (int64_t steps : arguments.transformers) memory::bench_step_trace(memory::transformer_step(steps), report);
  if (!arguments.svg.empty()) write_svg(report.frontiers.front(), arguments.svg);
  if (arguments.json)
    std::cout << memory::to_json(report) << '\n';
  else
    memory::print_table(report, std::cout);
  return 0;
}

}  // namespace tidemark::cli
