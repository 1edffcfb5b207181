#include "framework/cli/bench_arena.h"

#include <fmt/format.h>
#include <unistd.h>

#include <iostream>
#include <optional>

#include "base/bytes.h"
#include "base/error.h"
#include "framework/cli/input_file.h"
#include "framework/cli/options.h"
#include "framework/cli/output_file.h"
#include "memory/arena/plan_svg.h"
#include "memory/bench/arena_bench.h"
#include "memory/bench/step_generator.h"
#include "memory/trace/trace_csv.h"

namespace tidemark::cli {
namespace {

struct Arguments {
  std::vector<std::string> files;
  std::string capacity, svg;
  int64_t generate = 0;
  uint64_t seed = 1;
  bool json = false;
  std::optional<int64_t> work;
  memory::ArenaBenchOptions bench;
};

// To decide, the search either ends soon or hardly ever. The least peak is worth a search of up to a minute, which only
// traces need whose bound is out of reach.
constexpr int64_t kMinimizeWork = 600'000'000;

void add_options(CLI::App& app, Arguments& arguments) {
  memory::ArenaBenchOptions& bench = arguments.bench;
  app.add_option("files", arguments.files, "Traces: id,lower,upper,size and optional columns");
  app.add_option("--capacity", arguments.capacity, "Decide whether each fits into this: 1048576 or 4GiB")
      ->check(not_empty());
  app.add_flag("--minimize", bench.minimize, "Look for the least peak (the default without --capacity)");
  app.add_option("--variants", bench.variants,
                 "Also this many variants less one (shuffled, relabelled, time reversed, "
                 "bytes x 3, other seeds); times are medians")
      ->check(CLI::Range(1, 1000));
  app.add_option("--planner", bench.planner, "One of the planners, instead of portfolio");
  app.add_option(
         "--work", arguments.work,
         fmt::format("Limit of the search of each trace, in its own units, about 20 million a second; default: {} "
                     "to decide, {} to minimise",
                     bench.work_limit, kMinimizeWork))
      ->check(CLI::NonNegativeNumber);
  app.add_flag("!--no-check", bench.check, "Leave out the O(n^2) check of every plan (it is not part of the times)");
  app.add_option("--generate", arguments.generate, "Also a generated training step with this many buffers")
      ->check(CLI::Range(int64_t{100}, int64_t{1'000'000}));
  app.add_option("--seed", arguments.seed, "Seed of the generated step");
  app.add_option("--svg", arguments.svg, "Draw the plan of the first trace into this file")->check(not_empty());
  app.add_flag("--json", arguments.json, "One JSON object instead of a table");
}

void write_svg(const memory::Trace& trace, const memory::OffsetPlan& plan, const std::string& path) {
  if (plan.offsets.empty()) throw Error(ErrorCode::config, "--svg: no plan was found for '" + trace.name + "'");
  write_output_file(path, [&](std::ostream& out) { memory::write_plan_svg(trace, plan, out); });
}

}  // namespace

int run_bench_arena(int argc, char** argv) {
  CLI::App app("Plans the offsets of traces and says how good the plans are and what they took",
               "tidemark bench arena");
  Arguments arguments;
  add_options(app, arguments);
  if (const int code = parse_command_line(app, argc, argv); code >= 0) return code;
  if (arguments.files.empty() && arguments.generate == 0) {
    throw Error(ErrorCode::config, "name at least one trace, or --generate N");
  }
  if (!arguments.capacity.empty()) arguments.bench.capacity_bytes = parse_bytes(arguments.capacity);
  const bool minimizes = arguments.bench.minimize || !arguments.bench.capacity_bytes;
  arguments.bench.work_limit = arguments.work.value_or(minimizes ? kMinimizeWork : arguments.bench.work_limit);

  // Traces are read one at a time: the report's process peak is then that of planning.
  std::vector<memory::ArenaBenchRow> rows;
  const auto plan_one = [&](const memory::Trace& trace) {
    const bool draw = rows.empty() && !arguments.svg.empty();
    memory::OffsetPlan plan;
    if (isatty(STDERR_FILENO) != 0) std::cerr << "planning " << trace.name << "...\n";
    rows.push_back(memory::bench_trace(trace, arguments.bench, draw ? &plan : nullptr));
    if (draw) write_svg(trace, plan, arguments.svg);
  };
  for (const std::string& file : arguments.files) plan_one(read_input_file(file, memory::read_csv_file));
  if (arguments.generate > 0) {
    memory::StepOptions step;
    step.buffers = arguments.generate;
    step.seed = arguments.seed;
    plan_one(memory::generate_step(step));
  }
  const memory::ArenaBenchReport report = memory::summarize(std::move(rows), arguments.bench);
  if (arguments.json) {
    std::cout << memory::to_json(report) << '\n';
  } else {
    memory::print_table(report, std::cout);
  }
  return 0;
}

}  // namespace tidemark::cli
